import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const FOLDER = fileURLToPath(new URL('../../docs/decisions/', import.meta.url));
const INDEX = readFileSync(`${FOLDER}README.md`, 'utf8');
const DECISIONS = readdirSync(FOLDER).filter((name) => /^\d{4}-.*\.md$/.test(name));

const textOf = (name: string) => readFileSync(FOLDER + name, 'utf8');

describe('the decisions', () => {
  it.each(DECISIONS)('%s: has at most 300 words', (name) => {
    const words = textOf(name)
      .split(/\s+/)
      .filter((word) => /[\p{L}\p{N}]/u.test(word));
    expect(words.length).toBeLessThanOrEqual(300);
  });

  it.each(DECISIONS)('%s: gives context, decision, consequences and rejected options', (name) => {
    const headings = [...textOf(name).matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Context', 'Decision', 'Consequences', 'Rejected']);
  });

  it('are all in the index, with their titles', () => {
    const rows = DECISIONS.map((name) => {
      const [, number, title] = /^# (\d{4}) (.*)/.exec(textOf(name)) ?? [];
      return `| [${number}](${name}) | ${title} |`;
    });
    expect(INDEX.match(/^\| \[.*$/gm)).toEqual(rows);
  });
});
