import type { Answer } from './outcome.ts';
import { printable, shortened } from './printable.ts';
import { textTable } from './text-table.ts';

/** The longest value that a table for people shows, in characters. `--json` shows more. */
const VALUE_MAX = 2_000;

/** An object, or a table with a line for each of its members that is not null. */
export function answerOf(document: object, messages: readonly string[]): Answer {
  return { document, text: () => tableOf(rowsOf(document)), messages };
}

export type Rows = readonly (readonly string[])[];

export function tableOf(rows: Rows): string {
  const cells = rows.map((row) => row.map((text) => printable(shortened(text, VALUE_MAX))));
  return textTable(cells, { heading: false });
}

export function rowsOf(document: object): Rows {
  return Object.entries(document)
    .filter(([, value]) => value !== null)
    .map(([member, value]) => [member, String(value)]);
}
