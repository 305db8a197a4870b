import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Comparison } from './compare.ts';

const LIST = fileURLToPath(new URL('differences.txt', import.meta.url));

/** The differences in the list: each item, below the responses of both servers. README.md has the reasons. */
export function readExplanations(text = readFileSync(LIST, 'utf8')): readonly Comparison[] {
  const lists = text.matchAll(/^(.+) here, (.+) there:\n\n((?:- .+\n?)+)/gm);
  return [...lists].flatMap(([, service = '', peer = '', items = '']) =>
    [...items.matchAll(/^- (.+)$/gm)].map(([, name = '']) => ({ name, service, peer })),
  );
}

/** What the list lacks, and what it says that is not so; one line each. */
export function findProblems(comparisons: readonly Comparison[], explained: readonly Comparison[]): readonly string[] {
  const differences = comparisons.filter(({ service, peer }) => service !== peer).map(rowOf);
  const rows = explained.map(rowOf);
  return [
    ...differences.filter((row) => !rows.includes(row)).map((row) => `not explained: ${row}`),
    ...rows.filter((row) => !differences.includes(row)).map((row) => `not so: ${row}`),
    ...rows.filter((row, index) => rows.indexOf(row) !== index).map((row) => `explained twice: ${row}`),
  ];
}

function rowOf({ name, service, peer }: Comparison): string {
  return `${name}: ${service} here, ${peer} there`;
}
