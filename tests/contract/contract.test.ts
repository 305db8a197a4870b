import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type FetchService, openFetchService } from '../../config/fetch.ts';
import { runProgram } from '../support/program.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { checkRows } from './check.ts';
import { report } from './report.ts';
import { JWT_BEARER_ROWS, REVOCATION_ROWS, ROWS } from './rows.ts';
import { functionTarget, serverAt } from './targets.ts';

const BASE_URL = 'https://auth.example';
const GOOD = { clientId: GOOD_CLIENT.client_id, clientSecret: GOOD_SECRET, tokenPath: '/oauth2/token' };

let folder: string;
let server: ServiceUnderTest;
let opened: FetchService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-'));
  await writeFile(join(folder, 'clients.json'), JSON.stringify([GOOD_CLIENT]));
  await writeFile(join(folder, 'secret'), `${GOOD_SECRET}\n`);
  server = await startServiceUnderTest({
    environment: { BASE_URL, GRANT_TYPES: 'client_credentials,jwt-bearer', TOKEN_REVOCATION: 'true' },
  });
  const settings = {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: join(folder, 'clients.json'),
    CLIENT_SECRET_COST: '4',
    BASE_URL,
  };
  opened = await openFetchService(settings, () => {});
});
afterAll(async () => {
  await opened.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

const problemsOf = (results: Awaited<ReturnType<typeof checkRows>>) =>
  results.filter(({ problems }) => problems.length > 0).map(({ row, problems }) => [row.name, ...problems]);

describe('the rows of the contract', () => {
  it('hold over a socket', async () => {
    const rows = [...ROWS, ...JWT_BEARER_ROWS, ...REVOCATION_ROWS];
    const results = await checkRows(rows, { ...GOOD, send: serverAt(new URL(server.url)) });
    expect(problemsOf(results)).toEqual([]);
  });

  it('hold for the service as a function, except those that only a socket can send', async () => {
    const rows = ROWS.filter(({ socketOnly }) => !socketOnly);
    const results = await checkRows(rows, { ...GOOD, send: functionTarget(opened.fetch, BASE_URL) });
    expect(problemsOf(results)).toEqual([]);
    expect(ROWS.length - rows.length).toBe(2);
  });

  it('are at most 60 requests, and 10 wrong secrets, so that the program does no harm', () => {
    expect(ROWS.length).toBeLessThanOrEqual(60);
    const wrong = ROWS.filter(
      ({ expect: { error, sameAs }, name }) => error === 'invalid_client' && (sameAs ?? name) === 'a wrong secret',
    );
    expect(wrong.length).toBeLessThanOrEqual(10);
    expect(new Set(ROWS.map(({ name }) => name)).size).toBe(ROWS.length);
  });

  it('do not hold for a server that accepts everything, nor for one that refuses everything', async () => {
    for (const status of [200, 401]) {
      const body = status === 200 ? '{"access_token":"a.b.c","token_type":"Bearer","expires_in":300}' : '{}';
      const foreign = createServer((_request, response) => response.writeHead(status).end(body)).listen(0, '127.0.0.1');
      await new Promise((listening) => foreign.once('listening', listening));
      const { port } = foreign.address() as { port: number };
      const results = await checkRows(ROWS, { ...GOOD, send: serverAt(new URL(`http://127.0.0.1:${port}`)) });
      foreign.close();
      expect(results.filter(({ problems }) => problems.length === 0).length).toBeLessThanOrEqual(4);
    }
  });
});

describe('npm run contract', () => {
  const run = async (...args: readonly string[]) => {
    await using program = runProgram('tests/contract/main.ts', {}, args);
    return { code: await program.ended(), stdout: program.stdout(), stderr: program.stderr() };
  };
  const client = () => ['--client-id', GOOD.clientId, '--client-secret-file', join(folder, 'secret')];

  it('sends the rows of the grant jwt-bearer, and of revocation, if an option asks for them', async () => {
    const { code, stdout } = await run(server.url, ...client(), '--jwt-bearer', '--revocation');
    expect(stdout).toContain(`${ROWS.length + JWT_BEARER_ROWS.length + REVOCATION_ROWS.length} of`);
    expect(code).toBe(0);
  });

  it('prints a table, and never the secret', async () => {
    const { code, stdout } = await run(server.url, ...client());
    expect(stdout).toContain(`${ROWS.length} of ${ROWS.length} rows hold.`);
    expect(stdout).not.toContain(GOOD_SECRET);
    expect(code).toBe(0);
  });

  it('prints JSON, and fails if a requirement does not hold', async () => {
    const { code, stdout } = await run(server.url, ...client(), '--token-path', '/oauth2/jwks', '--form', 'json');
    const { rows, sent } = JSON.parse(stdout);
    expect(rows).toHaveLength(sent);
    expect(rows[0]).toEqual({
      name: 'a token for the right credentials',
      source: 'RFC 6749 5.1',
      severity: 'must',
      problems: expect.arrayContaining(['status 401 instead of 200']),
    });
    expect(code).toBe(1);
  });

  it.each([
    [['http://auth.example', '--client-id', 'a', '--client-secret-file', 'b'], 'URL must be https, or on loopback'],
    [['https://auth.example'], '--client-id is missing'],
    [['https://auth.example', '--client-id', 'a'], '--client-secret-file is missing'],
    [['here'], 'is not a URL'],
    [['https://auth.example/oauth2/token'], 'URL has a path: write the path of the token endpoint in --token-path'],
    [['https://auth.example', '--client-secret', 'a'], "Unknown option '--client-secret'"],
    [
      ['https://auth.example', '--client-id', 'a', '--client-secret-file', 'b'],
      '--client-secret-file: there is no file b.',
    ],
    [
      ['http://127.0.0.1:1', '--client-id', 'a', '--client-secret-file', 'package.json'],
      'No server answers at http://127.0.0.1:1 (ECONNREFUSED): start it first.',
    ],
  ])('says what is missing or wrong: %j', async (args, problem) => {
    const { code, stderr } = await run(...args);
    expect(stderr).toContain(problem);
    expect(stderr).not.toContain('    at ');
    expect(code).toBe(2);
  });

  it('writes JUnit that escapes what a server answers', () => {
    const [row] = ROWS;
    if (row === undefined) throw new Error('no rows');
    const written = report.junit([{ row, problems: ['error "<b>" & \u0007 instead of x'] }]);
    expect(written).toContain('<failure message="error &#34;&#60;b&#62;&#34; &#38;   instead of x"/>');
    expect(written).toContain('tests="1" failures="1"');
  });
});
