import type { Output } from './outcome.ts';
import { printable, shortened } from './printable.ts';

/** The longest value that a table of one object shows, in characters. `--json` shows more. */
const VALUE_MAX = 2_000;

export type Rows = readonly (readonly string[])[];

/** An object, or a table with a line for each of its fields that is not null. */
export function outputOf(document: object, messages: readonly string[]): Output {
  return { document, text: () => fieldTable(fieldsOf(document)), messages };
}

export function fieldsOf(document: object): Rows {
  return Object.entries(document)
    .filter(([, value]) => value !== null)
    .map(([field, value]) => [field, String(value)]);
}

/** A table of names and values. */
export function fieldTable(fields: Rows): string {
  return textTable(fields.map((row) => row.map((text) => shortened(text, VALUE_MAX))));
}

/** A line for each row, for people. Rows have equally many cells. */
export function textTable(rows: Rows): string {
  return new GrowingTable().add(rows).slice(0, -1);
}

/**
 * A table of any length, which is written part by part, with what a terminal would execute escaped. Its columns are as
 * wide as the cells so far.
 */
export class GrowingTable {
  #widths: readonly number[] = [];

  /** The lines of these rows, behind those of the rows before. */
  add(texts: Rows): string {
    const rows = texts.map((row) => row.map(printable));
    const columns = rows[0] ?? [];
    this.#widths = columns.map((_, column) =>
      rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), this.#widths[column] ?? 0),
    );
    return rows
      .map((row) => {
        const last = row.findLastIndex((cell) => cell !== '');
        const padded = row.slice(0, last).map((cell, column) => cell.padEnd(this.#widths[column] ?? 0));
        return `${[...padded, row[last]].join('  ')}\n`;
      })
      .join('');
  }
}
