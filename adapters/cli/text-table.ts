/** Characters that a terminal shows on top of the one before, and those that take two cells of it. */
const COMBINING = /[\p{M}]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const ASCII = /^[\x20-\x7e]*$/;

/** A table with lines around its cells, for people. The first row is the heading if there is one. Rows have equally many cells. */
export function textTable(rows: readonly (readonly string[])[], { heading }: { readonly heading: boolean }): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((max, row) => Math.max(max, widthOf(row[column] ?? '')), 0),
  );
  const line = (left: string, middle: string, right: string) =>
    left + widths.map((width) => '─'.repeat(width + 2)).join(middle) + right;
  const lines = rows.map(
    (row) =>
      `│${row.map((cell, column) => ` ${cell}${' '.repeat((widths[column] ?? 0) - widthOf(cell))} `).join('│')}│`,
  );
  const body = heading ? [lines[0], line('├', '┼', '┤'), ...lines.slice(1)] : lines;
  return [line('┌', '┬', '┐'), ...body, line('└', '┴', '┘')].join('\n');
}

/** How many cells of a terminal the text takes. */
function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
