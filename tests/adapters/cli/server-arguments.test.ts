import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { answerArguments } from '../../../adapters/cli/server-arguments.ts';
import { LOCATIONS_PAGE } from '../../../config/capabilities/example-resource/locations-settings.ts';
import { DEMO_PAGE, SERVICE_PAGE } from '../../../config/help-pages.ts';
import { runProgram } from '../../support/program.ts';

const { version, scripts } = JSON.parse(readFileSync('package.json', 'utf8'));

/** Each program, by the script of package.json that runs its file. */
const PROGRAMS = Object.entries({
  start: SERVICE_PAGE,
  demo: DEMO_PAGE,
  locations: LOCATIONS_PAGE,
});
const OTHERS = ['clients', 'keys', 'migrate'];

const fileOf = (script: string) => /config\/\w+\.ts/.exec(scripts[script])?.[0] ?? '';

async function run(script: string, args: readonly string[]) {
  await using program = runProgram(fileOf(script), {}, args);
  return { exitCode: await program.ended(), stdout: program.stdout(), stderr: program.stderr() };
}

describe('the programs of package.json', () => {
  it.each([...PROGRAMS.map(([script]) => script), ...OTHERS])('%s prints the version for --version', async (script) => {
    expect(await run(script, ['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each(PROGRAMS)('%s prints its settings for --help, and starts nothing', (_script, page) => {
    const { exitCode, text = '' } = answerArguments(page, ['--help']) ?? {};
    expect(exitCode).toBe(0);
    expect(text).toMatch(new RegExp(`^Usage: ${page.command}\n`));
    for (const [name, meaning] of page.settings)
      expect(text).toMatch(new RegExp(`^ {2}${name} +${RegExp.escape(meaning)}$`, 'm'));
    for (const line of text.split('\n')) expect(line.length).toBeLessThan(120);
  });

  it.each([
    ['--port=9000', 'PORT=9000 npm start'],
    ['--base-url=https://its-secret.test', 'BASE_URL=… npm start'],
    ['--database-url=postgresql://role:its-secret@db.test/auth', 'DATABASE_URL=… npm start'],
    ['its-secret', 'PORT=9000 npm start'],
  ])('refuse %s with exit code 2, show how a setting is given, and repeat no value', (argument, example) => {
    const answer = answerArguments(SERVICE_PAGE, [argument]);
    expect(answer).toMatchObject({ exitCode: 2, text: expect.stringContaining(`\n  ${example}\n`) });
    expect(answer?.text).not.toContain('its-secret');
  });

  it('name no setting that the demo has itself', () => {
    const text = answerArguments(DEMO_PAGE, ['--help'])?.text;
    expect(text).toMatch(/^ {2}PORT .*; default 8080$/m);
    expect(text).not.toMatch(/^ {2}(CLIENT|DATABASE)/m);
  });

  it('start without arguments', () => {
    expect(answerArguments(SERVICE_PAGE, [])).toBeUndefined();
  });
});
