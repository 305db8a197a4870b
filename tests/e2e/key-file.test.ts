import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { getAccessToken, send } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { startProblems } from '../support/start-problems.ts';

const ENVIRONMENT = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: 'config/demo/clients.json',
  PORT: '0',
  MANAGEMENT_PORT: '0',
  SHUTDOWN_GRACE_MS: '0',
  BASE_URL: 'http://issuer.test',
};

describe('KEY_FILE', () => {
  let folder: string;
  let file: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'key-'));
    file = join(folder, 'key.pem');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('keeps tokens valid across a restart', async () => {
    const start = async () => {
      const program = runProgram('config/main.ts', { ...ENVIRONMENT, KEY_FILE: file });
      const [, port] = await program.printed(/"event":"started".*"port":(\d+)/);
      return { program, url: `http://127.0.0.1:${port}` };
    };
    const before = await start();
    const token = await getAccessToken(before.url, 'demo-client', 'demo-secret');
    before.program.process.kill('SIGTERM');
    expect(await before.program.ended()).toBe(0);

    const after = await start();
    await using _program = after.program;
    const answer = await send(after.url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
  });

  /** What prevents the start. How the program prints it is tested below. */
  function problems(more: Readonly<Record<string, string>>): readonly string[] {
    const loaded = loadConfiguration({ ...ENVIRONMENT, ...more }, readTextFile);
    return loaded.ok ? [] : loaded.problem;
  }

  it.each([
    [
      'that is not a key',
      { KEY_FILE: 'package.json' },
      'KEY_FILE: must be a private key as PKCS#8 PEM without a passphrase, or as a JWK',
    ],
    [
      'that does not exist',
      { KEY_FILE: '/no-such-folder/key' },
      'KEY_FILE: cannot be read: there is no file /no-such-folder/key (ENOENT)',
    ],
  ])('prevents the start if it names a file %s', (_name, environment, problem) => {
    expect(problems(environment)).toEqual([problem]);
  });

  it.each([
    ['its group', 0o620],
    ['others', 0o602],
  ])('prevents the start if %s can write to the file', async (_who, mode) => {
    await chmod(file, mode);
    await using program = runProgram('config/main.ts', { ...ENVIRONMENT, KEY_FILE: file, TOKEN_TYPO: '1' });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(
      startProblems(
        'TOKEN_TYPO: is not a setting of this service',
        'KEY_FILE: must be writable only by its owner (chmod go-w)',
      ),
    );
    await chmod(file, 0o600);
  });

  it('cannot be combined with a key rotation', () => {
    const found = problems({ KEY_FILE: file, KEY_ROTATION_SECONDS: '3600' });
    expect(found).toEqual([expect.stringContaining('KEY_ROTATION_SECONDS: must be 0 if KEY_FILE is set')]);
  });
});
