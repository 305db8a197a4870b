import type { RowResult } from './check.ts';

type Format = (results: readonly RowResult[]) => string;

const held = (results: readonly RowResult[]) => results.filter(({ problems }) => problems.length === 0).length;

const table: Format = (results) => {
  const lines = results.map(({ row, problems }) => {
    const verdict = problems.length === 0 ? 'ok  ' : 'FAIL';
    return `${verdict} ${row.severity.padEnd(6)} ${row.source.padEnd(17)} ${[row.name, ...problems].join('; ')}`;
  });
  return `${lines.join('\n')}\n\n${held(results)} of ${results.length} rows hold.\n`;
};

const json: Format = (results) => {
  const rows = results.map(({ row: { name, source, severity }, problems }) => ({ name, source, severity, problems }));
  return `${JSON.stringify({ rows, held: held(results), sent: results.length }, undefined, 2)}\n`;
};

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`).replace(/\p{Cc}/gu, ' ');

const junit: Format = (results) => {
  const cases = results.map(({ row, problems }) => {
    const failure = problems.length === 0 ? '' : `<failure message="${escaped(problems.join('; '))}"/>`;
    return `  <testcase classname="${escaped(`${row.severity} ${row.source}`)}" name="${escaped(row.name)}">${failure}</testcase>`;
  });
  const failures = results.length - held(results);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="contract" tests="${results.length}" failures="${failures}">\n${cases.join('\n')}\n</testsuite>\n`;
};

/** The forms of the result, for people and for programs. */
export const report = { table, json, junit };
