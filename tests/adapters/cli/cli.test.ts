import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { LIST_COLUMNS, listedRow, problemsOf } from '../../../adapters/cli/clients-program/client-output.ts';
import { Problem } from '../../../adapters/cli/outcome.ts';
import { printable, printableJson } from '../../../adapters/cli/printable.ts';
import { readSecret } from '../../../adapters/cli/read-secret.ts';
import { answerArguments } from '../../../adapters/cli/server-arguments.ts';
import { textTable } from '../../../adapters/cli/text-table.ts';
import type { ListedClient } from '../../../application/clients-program/list-clients.ts';
import { manageClients } from '../../../config/programs/clients-program.ts';
import { inspectService } from '../../../config/programs/doctor.ts';
import { DEMO_PAGE, SERVICE_PAGE } from '../../../config/programs/help-pages.ts';
import { manageKeys } from '../../../config/programs/keys-program.ts';
import { migrateTables } from '../../../config/programs/migrate-tables.ts';
import { NO_FIELDS } from '../../../domain/client-fields.ts';
import { runProgram } from '../../support/program.ts';
import { runInProcess } from '../../support/run-in-process.ts';

describe('the programs of package.json', () => {
  const { version, scripts } = JSON.parse(readFileSync('package.json', 'utf8'));

  /** Each program, by the script of package.json that runs its file. */
  const PROGRAMS = Object.entries({
    start: SERVICE_PAGE,
    demo: DEMO_PAGE,
  });
  const OTHERS = { clients: manageClients, keys: manageKeys, migrate: migrateTables, doctor: inspectService };

  const fileOf = (script: string) => /config\/\w+\.ts/.exec(scripts[script])?.[0] ?? '';

  async function run(script: string, args: readonly string[]) {
    await using program = runProgram(fileOf(script), {}, args);
    return { exitCode: await program.ended(), stdout: program.stdout(), stderr: program.stderr() };
  }

  it.each(PROGRAMS.map(([script]) => script))('%s prints the version for --version', async (script) => {
    expect(await run(script, ['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each(Object.entries(OTHERS))('%s prints the version for --version', async (_script, program) => {
    expect(await runInProcess(program, ['--version'], {})).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
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
    const response = answerArguments(SERVICE_PAGE, [argument]);
    expect(response).toMatchObject({ exitCode: 2, text: expect.stringContaining(`\n  ${example}\n`) });
    expect(response?.text).not.toContain('its-secret');
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

describe('printable', () => {
  it.each([
    ['an escape sequence', '\u001b[31m', '\\u{1b}[31m'],
    ['its one-byte form', '\u009b31m', '\\u{9b}31m'],
    ['a line break', 'a\r\nb', 'a\\u{d}\\u{a}b'],
    ['text that reads backwards', 'a\u202eb', 'a\\u{202e}b'],
    ['characters without width', 'a\u200bb', 'a\\u{200b}b'],
    ['an invisible tag', '\u{e0041}', '\\u{e0041}'],
    ['a line separator', '\u2028', '\\u{2028}'],
    ['half a surrogate pair', '\ud800', '\\u{d800}'],
  ])('escapes %s', (_what, text, shown) => {
    expect(printable(text)).toBe(shown);
    expect(printableJson({ text })).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(printableJson({ text }))).toEqual({ text });
  });

  it.each(['Billing', 'Zahlungsgebühren', '請求', '\u{1F511}', 'O\'Neill \\ "Sons"'])('does not change %s', (text) => {
    expect(printable(text)).toBe(text);
    expect(JSON.parse(printableJson(text))).toBe(text);
  });
});

describe('readSecret', () => {
  const inputOf = (...chunks: readonly (string | Uint8Array)[]) =>
    Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  const read = (...chunks: readonly (string | Uint8Array)[]) =>
    readSecret(inputOf(...chunks), { allowShortSecret: true });

  it.each([
    ['a secret', ['secret'], 'secret'],
    ['a line', ['secret\n'], 'secret'],
    ['a Windows line', ['secret\r\n'], 'secret'],
    ['spaces', [' secret \n'], ' secret '],
    ['72 bytes and a line break', [`${'x'.repeat(72)}\r\n`], 'x'.repeat(72)],
    ['a letter in two chunks', [new Uint8Array([0xc3]), new Uint8Array([0xa9])], 'é'],
  ])('accepts %s', async (_what, chunks, secret) => {
    expect(await read(...chunks)).toBe(secret);
  });

  it.each([
    ['nothing', [], 'is empty.'],
    ['only a line break', ['\n'], 'is empty.'],
    ['73 bytes', ['x'.repeat(73)], 'has more than 72 bytes; BCrypt would ignore the rest.'],
    ['73 bytes of letters with accents', ['é'.repeat(37)], 'has more than 72 bytes; BCrypt would ignore the rest.'],
    ['a whole file', ['x'.repeat(70), '\n'.repeat(70)], 'has more than 72 bytes; BCrypt would ignore the rest.'],
    ['a NUL', ['a\0b'], 'contains a NUL, at which BCrypt stops reading.'],
    ['two line breaks', ['secret\n\n'], 'must have no line break, control or invisible character.'],
    ['a carriage return', ['secret\r'], 'must have no line break, control or invisible character.'],
    ['a byte order mark', ['\ufeffsecret'], 'must have no line break, control or invisible character.'],
    ['a space of no width', ['secret\u200b'], 'must have no line break, control or invisible character.'],
    ['bytes that are not UTF-8', [new Uint8Array([0xff])], 'is not UTF-8.'],
  ])('refuses %s', async (_what, chunks, rule) => {
    await expect(read(...chunks)).rejects.toMatchObject({
      exitCode: 1,
      messages: [`The secret on standard input ${rule}`],
    });
  });

  it('stops reading an endless input as soon as it is too long', async () => {
    const endless = Readable.from(
      (function* () {
        while (true) yield Buffer.alloc(64, 'x');
      })(),
    );
    await expect(readSecret(endless, {})).rejects.toThrow(Problem);
  });

  it('refuses a terminal as input, where the secret would be visible', async () => {
    const stdin = Object.assign(Readable.from([]), { isTTY: true });
    await expect(readSecret(stdin, {})).rejects.toMatchObject({ exitCode: 2 });
  });

  it.each([
    ['16 characters', 'sixteen-letters!'],
    ['16 characters of several bytes', '\u{1f511}'.repeat(16)],
  ])('accepts %s without an option', async (_what, secret) => {
    expect(await readSecret(inputOf(`${secret}\n`), {})).toBe(secret);
  });

  it.each([
    ['one character', 'x'],
    ['15 characters', 'fifteen-letters'],
    ['15 characters of several bytes', '\u{1f511}'.repeat(15)],
  ])('refuses %s unless short secrets are allowed', async (_what, secret) => {
    await expect(readSecret(inputOf(`${secret}\n`), {})).rejects.toMatchObject({
      exitCode: 1,
      messages: [
        'The secret on standard input has fewer than 16 characters. To accept it all the same, add --allow-short-secret.',
      ],
    });
    expect(await read(secret)).toBe(secret);
  });
});

describe('a page of a list', () => {
  const CLIENT: ListedClient = {
    id: '1',
    client_id: 'billing',
    client_name: 'Billing',
    scope: 'read',
    state: 'enabled',
    bcrypt_cost: 10,
    problem: null,
    authentication_methods: ['private_key_jwt', 'federated_jwt'],
    resources: [],
    ...NO_FIELDS,
  };

  const pageOf = (clients: readonly ListedClient[]) => `${textTable([LIST_COLUMNS, ...clients.map(listedRow)])}\n`;

  it('has columns that are as wide as their widest value', () => {
    const ofFields = { claims: { tenant: 'acme', plan: 1 }, token_lifetime_seconds: 60, owner: 'team-a' };
    const page = pageOf([CLIENT, { ...CLIENT, client_name: 'Nightly report', ...ofFields, resources: ['urn:a'] }]);
    expect(page).toBe(`\
id  client_id  client_name     scope  state    bcrypt_cost  authentication_methods          owner   tokens
1   billing    Billing         read   enabled  10           private_key_jwt, federated_jwt
1   billing    Nightly report  read   enabled  10           private_key_jwt, federated_jwt  team-a  claims tenant, plan; at most 60 s; for urn:a
`);
  });

  it('cuts long values, and marks them', () => {
    const long = { ...CLIENT, client_name: 'x'.repeat(201), client_id: 'y'.repeat(201) };
    expect(pageOf([long])).toContain(`  ${'y'.repeat(200)}…  ${'x'.repeat(200)}…  `);
    const broken = { ...long, problem: 'client_id must be short' };
    expect(problemsOf([broken])).toEqual([
      `Row 1, client ${'y'.repeat(200)}…: client_id must be short; it gets no token.`,
    ]);
  });
});
