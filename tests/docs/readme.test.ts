import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { freePort } from '../support/free-port.ts';
import { getAccessToken } from '../support/http.ts';
import { type Program, runLine, runProgram } from '../support/program.ts';
import { createTestDatabase, PATIENT } from '../support/test-database.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const README = readFileSync(`${ROOT}/README.md`, 'utf8');

const START = 'CLIENT_REPOSITORY=memory CLIENTS_FILE=config/demo/clients.json npm start';
const DOCTOR = 'CLIENT_REPOSITORY=memory CLIENTS_FILE=config/demo/clients.json npm run doctor';

/** The text of each fenced block of a language, in order. */
function blocks(language: string): readonly string[] {
  return [...README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) =>
    text.trim(),
  );
}

describe('the README', () => {
  let port: number;
  let demo: Program;
  beforeAll(async () => {
    port = await freePort();
    // The command that its resource server needs.
    demo = runLine('PUBLIC_METADATA=true npm run demo', { PORT: String(port), BASE_URL: 'http://localhost:8080' });
    await demo.printed(/Stop it with Ctrl-C/);
  });
  afterAll(async () => demo[Symbol.asyncDispose]());

  const here = (text: string) => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);
  const bash = async (command: string) => (await promisify(execFile)('bash', ['-c', here(command)])).stdout;

  it('shows how the service starts with the sample of a clients file, and that the doctor finds no problem then', async () => {
    expect(README).toContain('[this sample](config/demo/clients.json)');
    const own = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()), SHUTDOWN_GRACE_MS: '0' };
    await using service = runLine(START, own);
    await service.printed(/"event":"started"/);
    expect(await getAccessToken(`http://127.0.0.1:${own.PORT}`, 'demo-client', 'demo-secret')).toMatch(/^eyJ/);
    await using doctor = runLine(DOCTOR, own);
    expect(await doctor.ended()).toBe(0);
    expect(doctor.stdout()).toContain('the service runs, and is ready');
  });

  it('shows curl lines that work when they are pasted', async () => {
    const [token = '', location = '', wrong = '', ...others] = blocks('sh').filter((block) => block.includes('curl'));
    expect(others).toEqual([]);
    expect(JSON.parse(await bash(token))).toMatchObject({ token_type: 'Bearer', expires_in: 300 });
    expect(JSON.parse(await bash(location))).toMatchObject({ code: 'NYC_USA' });
    expect(JSON.parse(await bash(wrong))).toEqual(JSON.parse(blocks('json')[1] ?? ''));
  });

  it('shows how a client is added to the table, and gets its token from a service on it', async () => {
    const block = blocks('sh').find((shown) => shown.includes('npm run clients')) ?? '';
    const [, create = '', migrate = '', add = '', start = ''] = block.split('\n');
    expect(create).toMatch(
      /^docker compose exec postgres psql -U auth -c "create role service login password '[\w-]+'"$/,
    );
    expect(start).toMatch(/^CLIENT_REPOSITORY=postgres DATABASE_URL=\S+ npm start$/);
    const database = await createTestDatabase();
    try {
      const role = await database.createRole();
      const own = (line: string) =>
        bash(`DATABASE_URL='${database.url}' ${line.replace('npm run', 'npm run --silent')}`);
      await own(migrate.replace(/service$/, role.name));
      const added = await own(`${add} --json`);
      const { client_id, client_secret } = JSON.parse(added);
      await using service = runProgram('config/main.ts', {
        CLIENT_REPOSITORY: 'postgres',
        DATABASE_URL: role.url,
        ...PATIENT,
        BASE_URL: 'http://issuer.test',
        PORT: '0',
        MANAGEMENT_PORT: '0',
      });
      const [, listening] = await service.printed(/"event":"started".*"port":(\d+)/);
      expect(await getAccessToken(`http://127.0.0.1:${listening}`, client_id, client_secret)).toMatch(/^eyJ/);
    } finally {
      await database.drop();
    }
  });

  it('shows the header and the claims that a token has', async () => {
    const token = await getAccessToken(`http://127.0.0.1:${port}`, 'demo-client', 'demo-secret');
    const shown = JSON.parse(blocks('json')[0] ?? '');
    const { kid: _kid, ...header } = decodeProtectedHeader(token);
    expect(shown.header).toMatchObject(header);
    const claims = decodeJwt(token);
    expect(Object.keys(claims)).toEqual(Object.keys(shown.claims));
    expect(claims).toMatchObject({ iss: shown.claims.iss, sub: shown.claims.sub, aud: shown.claims.aud });
    expect(shown.claims).toMatchObject({ nbf: shown.claims.iat, exp: shown.claims.iat + 300 });
  });

  it('shows how a resource server accepts a valid token and refuses another', async () => {
    const [snippet = ''] = blocks('js');
    // In this folder, the snippet finds the packages of the project.
    const file = fileURLToPath(new URL(`snippet-${randomUUID()}.mjs`, import.meta.url));
    await writeFile(file, here(snippet));
    try {
      const { callerOf } = await import(file);
      const token = await getAccessToken(`http://127.0.0.1:${port}`, 'demo-client', 'demo-secret');
      expect(await callerOf(token)).toBe('demo-client');
      await expect(callerOf(`${token.slice(0, -8)}AAAAAAAA`)).rejects.toThrow();
    } finally {
      await rm(file);
    }
  });
});
