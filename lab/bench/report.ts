import { availableParallelism, cpus } from 'node:os';

/** Progress on standard error. Standard output holds the result only. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A part of the report on standard output, with an empty line behind it. */
export function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n\n`);
}

/** What the figures were measured on, and further conditions, as a Markdown list. */
export function conditions(...more: readonly string[]): string {
  const machine = [
    `Date: ${new Date().toISOString().slice(0, 10)}`,
    `CPU: ${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores`,
    `Node.js: ${process.version}, on ${process.platform} ${process.arch}`,
  ];
  return [...machine, ...more].map((line) => `- ${line}`).join('\n');
}

/** What a measurement has to show, and whether it did. */
export interface Verdict {
  readonly requirement: string;
  readonly passed: boolean;
}

/** Prints the verdicts. Returns whether all requirements are met. */
export function printVerdicts(verdicts: readonly Verdict[]): boolean {
  print(...verdicts.map(({ requirement, passed }) => `- ${passed ? 'passed' : 'FAILED'}: ${requirement}`));
  return verdicts.every(({ passed }) => passed);
}

/**
 * A number for a table, with thousands separators and a fixed number of decimals; `n/a` if it could not be measured.
 */
export function figure(value: number, decimals = 0): string {
  if (Number.isNaN(value)) return 'n/a';
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Its header, what a row has in it, and the decimals of a number. */
export type Column<Row> = readonly [header: string, cell: (row: Row) => string | number, decimals?: number];

/**
 * A Markdown table, readable as plain text. The first column is left-aligned, all others are numbers and right-aligned.
 */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const texts = columns.map(([header, cell, decimals], position) => {
    const cells = rows.map(cell).map((value) => (typeof value === 'number' ? figure(value, decimals) : value));
    const width = Math.max(3, ...[header, ...cells].map((text) => [...text].length));
    const rule = position === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`;
    const padded = [header, ...cells].map((text) => (position === 0 ? text.padEnd(width) : text.padStart(width)));
    return padded.toSpliced(1, 0, rule);
  });
  const lines = texts[0]?.map((_, line) => `| ${texts.map((column) => column[line]).join(' | ')} |`);
  return lines?.join('\n') ?? '';
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

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
