import type { Answer } from './outcome.ts';
import { printable, shortened } from './printable.ts';

/** The longest value that a table of one object shows, in characters. `--json` shows more. */
const VALUE_MAX = 2_000;

/** Characters that a terminal shows on top of the one before, and those that take two cells of it. */
const COMBINING = /[\p{M}]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const ASCII = /^[\x20-\x7e]*$/;

export type Rows = readonly (readonly string[])[];

/** An object, or a table with a line for each of its members that is not null. */
export function answerOf(document: object, messages: readonly string[]): Answer {
  return { document, text: () => memberTable(membersOf(document)), messages };
}

export function membersOf(document: object): Rows {
  return Object.entries(document)
    .filter(([, value]) => value !== null)
    .map(([member, value]) => [member, String(value)]);
}

/** A table of names and values, without a heading. */
export function memberTable(members: Rows): string {
  return textTable(
    members.map((row) => row.map((text) => shortened(text, VALUE_MAX))),
    { heading: false },
  );
}

/** A table with lines around its cells, for people. The first row is the heading if there is one. Rows have equally many cells. */
export function textTable(rows: Rows, { heading }: { readonly heading: boolean }): string {
  const table = new GrowingTable(heading);
  return `${table.add(rows)}${table.end()}`;
}

/** A table of any length, which is written part by part, with what a terminal would execute escaped. Its columns are as wide as the cells so far. */
export class GrowingTable {
  readonly #heading: boolean;
  #widths: readonly number[] | undefined;

  constructor(heading: boolean) {
    this.#heading = heading;
  }

  /** The lines of these rows, behind those of the rows before. */
  add(texts: Rows): string {
    const rows = texts.map((row) => row.map(printable));
    const isFirst = this.#widths === undefined;
    const before = this.#widths ?? (rows[0] ?? []).map(() => 0);
    this.#widths = before.map((least, column) =>
      rows.reduce((max, row) => Math.max(max, widthOf(row[column] ?? '')), least),
    );
    const lines = rows.map((row) => `│${row.map((cell, column) => ` ${this.#padded(cell, column)} `).join('│')}│\n`);
    if (isFirst && this.#heading) lines.splice(1, 0, this.#line('├', '┼', '┤\n'));
    return `${isFirst ? this.#line('┌', '┬', '┐\n') : ''}${lines.join('')}`;
  }

  end(): string {
    return this.#line('└', '┴', '┘');
  }

  #padded(cell: string, column: number): string {
    return cell + ' '.repeat((this.#widths?.[column] ?? 0) - widthOf(cell));
  }

  #line(left: string, middle: string, right: string): string {
    return left + (this.#widths ?? []).map((width) => '─'.repeat(width + 2)).join(middle) + right;
  }
}

/** How many cells of a terminal the text takes. */
function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
