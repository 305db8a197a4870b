import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { runProgram } from '../support/program.ts';

const bash = (command: string) => promisify(execFile)('bash', ['-c', command]);

describe('npm run demo', () => {
  it('prints two curl lines that can be pasted and work', async () => {
    const port = await freePort();
    await using program = runProgram('config/demo.ts', { PORT: String(port) });
    await program.printed(/Stop it with Ctrl-C/);
    // What can be pasted comes first, and the log of the start is not lost.
    expect(program.stdout()).toMatch(/^\nThe authorization service listens on /);
    await program.printed(/^\{.*"event":"started"/m);
    const lines = program.stdout().match(/^ {2}curl .*$/gm) ?? [];
    expect(lines).toHaveLength(2);
    const [tokenLine = '', locationLine = ''] = lines;
    expect(JSON.parse((await bash(tokenLine)).stdout)).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 300,
    });
    expect(JSON.parse((await bash(locationLine)).stdout)).toMatchObject({ code: 'NYC_USA', enabled: true });
  });

  it('keeps its clients in a file with --keep, with a hashed secret that is printed only once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'demo-'));
    const file = join(folder, 'new/clients.db');
    const start = async () => {
      const settings = { PORT: String(await freePort()), DATABASE_FILE: file };
      const program = runProgram('config/demo.ts', settings, ['--keep']);
      await program.printed(/Stop it with Ctrl-C/);
      expect(program.stdout()).toContain(`Its clients are kept in ${file}\n`);
      return { program, line: program.stdout().match(/^ {2}curl .*$/m)?.[0] ?? '' };
    };
    const first = await start();
    const [, secret = ''] = /client_secret=(\S{43})$/.exec(first.line) ?? [];
    expect(JSON.parse((await bash(first.line)).stdout)).toMatchObject({ expires_in: 300 });
    await first.program[Symbol.asyncDispose]();
    expect(await readFile(file, 'utf8')).toContain('$2b$10$');
    expect(await readFile(file, 'utf8')).not.toContain(secret);
    const second = await start();
    expect(second.program.stdout()).not.toContain(secret);
    expect(second.program.stdout()).toContain('\n  export SECRET=…\n');
    await second.program.printed(/"event":"started"/);
    expect(second.program.stdout()).not.toContain('has no effect');
    expect(JSON.parse((await bash(`SECRET=${secret}; ${second.line}`)).stdout)).toMatchObject({ expires_in: 300 });
    await second.program[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it('says why the file of --keep cannot be used, and takes no other clients or argument', async () => {
    const running = (args: readonly string[]) =>
      runProgram('config/demo.ts', { PORT: '0', BASE_URL: 'http://a.test', DATABASE_FILE: 'package.json' }, args);
    await using unusable = running(['--keep']);
    expect(await unusable.ended()).toBe(1);
    expect(unusable.stderr()).toMatch(/package\.json is not a database of SQLite: correct DATABASE_FILE/);
    await using folder = runProgram('config/demo.ts', { DATABASE_FILE: 'docs' }, ['--keep']);
    expect(await folder.ended()).toBe(1);
    expect(folder.stderr()).toContain('/docs is a folder: name a file in it');
    await using kept = runProgram('config/demo.ts', { npm_config_keep: 'true' });
    expect(await kept.ended()).toBe(1);
    expect(kept.stderr()).toContain('write two dashes before it, npm run demo -- --keep');
    const others = { CLIENT_REPOSITORY: 'sqlite', CLIENTS_FILE: '/nope.json', DATABASE_FILE: 'x', MANAGMENT_PORT: '3' };
    await using refused = runProgram('config/demo.ts', others);
    expect(await refused.ended()).toBe(1);
    expect(refused.stderr()).toContain(`
  CLIENT_REPOSITORY: the demo has clients of its own: leave it out, or use npm start
  CLIENTS_FILE: the demo has clients of its own: leave it out, or use npm start
  DATABASE_FILE: is used only with npm run demo -- --keep, or npm start
  MANAGMENT_PORT: is not a setting of this service: did you mean MANAGEMENT_PORT?
`);
    await using wrong = running(['--keep', '--kept']);
    expect(await wrong.ended()).toBe(2);
    expect(wrong.stderr()).toContain('no arguments but --keep, --help and --version');
  });
});
