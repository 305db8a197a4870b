import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { ANSWERS } from '../../adapters/http/server/http-refusal.ts';
import { SETTING_NAMES } from '../support/all-settings.ts';
import { getAccessToken } from '../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, startServiceUnderTest } from '../support/running-service.ts';

const PAGE = readFileSync('docs/troubleshooting.md', 'utf8');
/** The first cells of the rows of a part of the page. */
function firstCells(heading: string): readonly string[] {
  const part = PAGE.slice(PAGE.indexOf(`\n${heading}\n`)).split(/\n##+ /)[1] ?? '';
  return [...part.matchAll(/^\| (?!---)(.+?) \|/gm)].map(([, cell = '']) => cell).slice(1);
}

const blocks = [...PAGE.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, text = '']) => text.trim());

it('has each answer that a refusal can be, and no other', () => {
  const answers = Object.values(ANSWERS).map(({ status, error }) => `${status} \`${error}\``);
  expect(firstCells('## For callers').toSorted()).toEqual([...new Set(answers)].toSorted());
});

it('names only settings, scripts and commands that exist', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  for (const [, script = ''] of PAGE.matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(script);
  const names = [...PAGE.matchAll(/`([A-Z]+_[A-Z_]+)(?:=[^`]*)?`/g)].map(([, name = '']) => name);
  for (const name of names) expect(SETTING_NAMES).toContain(name);
});

it('shows commands that read the id of the key and the claims of a token', async () => {
  const service = await startServiceUnderTest({});
  const TOKEN = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
  await service.stop();
  const [kid = '', claims = ''] = blocks.filter((block) => block.startsWith('node '));
  const run = async (command: string) => {
    const { PATH } = process.env;
    return (await promisify(execFile)('bash', ['-c', command], { env: { PATH, TOKEN } })).stdout;
  };
  const [header] = (await run(claims)).split('\n');
  expect(JSON.parse(header ?? '')).toMatchObject({ alg: 'RS256', kid: (await run(kid)).trim() });
  expect(await run(claims)).toContain(`"sub":"${GOOD_CLIENT.client_id}"`);
});
