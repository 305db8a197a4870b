import { availableParallelism, cpus } from 'node:os';

/** Progress on standard error. Standard output holds the result only. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** What the figures were measured on, one property per line. */
export function machineLines(): readonly string[] {
  return [
    `Date: ${new Date().toISOString().slice(0, 10)}`,
    `CPU: ${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores`,
    `Node.js: ${process.version}, on ${process.platform} ${process.arch}`,
  ];
}

/** The same in one line, for a picture. */
export function machineText(): string {
  const [date, cpu, node] = machineLines().map((line) => line.replace(/^[^:]*: /, ''));
  return `${date}, ${cpu}, Node.js ${node?.replace(/,.*/, '')}`;
}

/** A number for a table, with thousands separators and a fixed number of decimals; `n/a` if it could not be measured. */
export function figure(value: number | undefined, decimals = 0): string {
  if (value === undefined || Number.isNaN(value)) return 'n/a';
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A Markdown list, one item per line. */
export function markdownList(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}

/** A Markdown table with padded columns, readable as plain text. The first column is left-aligned, all others are numbers and right-aligned. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((_, column) =>
    Math.max(3, ...[header, ...rows].map((row) => [...(row[column] ?? '')].length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => pad(cells[column] ?? '', width, column)).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(header), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** The middle value, or the mean of the two middle values; NaN if there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The smallest value that at least `percent` of the values do not exceed (nearest rank); NaN if there are none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}
