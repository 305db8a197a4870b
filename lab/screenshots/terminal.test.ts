import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { FILE, recordTerminal } from './terminal.ts';

/** Without what differs in each run. */
const lasting = (line: string) =>
  line.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID').replace(/eyJ\w+/, 'TOKEN');

it('the picture of the README shows what its commands print now', async () => {
  const texts = [...readFileSync(FILE, 'utf8').matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, text = '']) => text);
  const lines = texts.map((text) => text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code)));
  expect(lines.map(lasting)).toEqual((await recordTerminal()).map(lasting));
});
