import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { answerArguments } from '../../adapters/cli/server-arguments.ts';
import { DEMO_PAGE } from '../../config/programs/help-pages.ts';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, requestToken, send } from '../support/http.ts';
import { environmentOfPrograms, runProgram } from '../support/program.ts';
import { GOOD_CLIENT, GOOD_SECRET, startServiceUnderTest } from '../support/running-service.ts';
import { ServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';

const bash = (command: string) => promisify(execFile)('bash', ['-c', command]);

describe('npm run demo', () => {
  it('prints two curl lines that can be pasted and work, and stops on Ctrl-C', async () => {
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
    program.process.kill('SIGINT');
    expect(await program.ended()).toBe(0);
  });

  it('takes no other clients and no argument', async () => {
    const others = { CLIENT_REPOSITORY: 'sqlite', CLIENTS_FILE: '/nope.json', DATABASE_FILE: 'x', MANAGMENT_PORT: '3' };
    await using refused = runProgram('config/demo.ts', others);
    expect(await refused.ended()).toBe(1);
    expect(refused.stderr()).toContain(`
  CLIENT_REPOSITORY: the demo has clients of its own: leave it out, or use npm start
  CLIENTS_FILE: the demo has clients of its own: leave it out, or use npm start
  DATABASE_FILE: the demo has clients of its own: leave it out, or use npm start
  MANAGMENT_PORT: is not a setting of this service: did you mean MANAGEMENT_PORT?
`);
    const wrong = answerArguments(DEMO_PAGE, ['--kept']);
    expect(wrong).toMatchObject({
      exitCode: 2,
      text: expect.stringContaining('no arguments but --help and --version'),
    });
  });
});

describe('examples/node/locations-server.js', () => {
  const ISSUER = 'http://issuer.test';

  const statusOf = async (url: string, path: string, token?: string) =>
    (await send(url, path, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })).status;

  it('starts before its issuer: answers 503 until that is up, and accepts its tokens also when it is down again', async () => {
    const port = await freePort();
    await using program = runProgram('examples/node/locations-server.js', {
      PORT: '0',
      JWKS_URI: `http://127.0.0.1:${port}/oauth2/jwks`,
      TOKEN_ISSUER: ISSUER,
    });
    const [, own] = await program.printed(/listening on port (\d+)/);
    const url = `http://127.0.0.1:${own}`;
    // Well-formed, so that the key set is needed.
    const [header, payload] = ['{"kid":"k","alg":"RS256"}', '{}'].map((json) =>
      Buffer.from(json).toString('base64url'),
    );
    const unknown = `${header}.${payload}.AAAA`;
    expect(await statusOf(url, '/v1/locations/PAR_FR', unknown)).toBe(503);
    expect(await statusOf(url, '/v1/locations/PAR_FR')).toBe(401);

    const environment = { PORT: String(port), BASE_URL: ISSUER, PUBLIC_METADATA: 'true' };
    const service = await startServiceUnderTest({ environment });
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    await until(async () => (await statusOf(url, '/v1/locations/PAR_FR', token)) === 200, 'the keys are fetched');
    expect(await statusOf(url, '/v1/locations/PAR_FR', unknown)).toBe(401);
    expect(await statusOf(url, '/v1/locations/nowhere', token)).toBe(404);

    await service.stop();
    expect(await statusOf(url, '/v1/locations/PAR_FR', token)).toBe(200);
    expect(await statusOf(url, '/v1/locations/PAR_FR', 'no-token')).toBe(401);
  });
});

describe('examples/node/locations-server.js with introspection', () => {
  it('refuses a token at once that was revoked, and answers 503 while the service does not say', async () => {
    const service = await startServiceUnderTest({
      environment: { PUBLIC_METADATA: 'true', TOKEN_REVOCATION: 'true' },
      clients: [GOOD_CLIENT, { ...GOOD_CLIENT, client_id: 'api', audiences: [GOOD_CLIENT.client_id] }],
    });
    await using program = runProgram('examples/node/locations-server.js', {
      PORT: '0',
      JWKS_URI: `${service.url}/oauth2/jwks`,
      TOKEN_ISSUER: 'http://issuer.test',
      INTROSPECTION_URI: `${service.url}/oauth2/introspect`,
      CLIENT_ID: 'api',
      CLIENT_SECRET: GOOD_SECRET,
    });
    const [, own] = await program.printed(/listening on port (\d+)/);
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    const headers = { authorization: `Bearer ${token}` };
    const use = async () => (await send(`http://127.0.0.1:${own}`, '/v1/locations/PAR_FR', { headers })).status;
    expect(await use()).toBe(200);
    const body = new URLSearchParams({ token, client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET });
    expect((await fetch(`${service.url}/oauth2/revoke`, { method: 'POST', body })).status).toBe(200);
    expect(await use()).toBe(401);
    await service.stop();
    expect(await use()).toBe(503);
  });
});

describe('a web server that calls the service as a function', () => {
  const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
  const FORM = { grant_type: 'client_credentials', client_id: 'demo-client', client_secret: 'demo-secret' };
  const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
  const ROUNDS = 20;

  it('survives refusals before the body is read, whatever it makes a body of', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await using host = new ServerProcess(CHECKOUT, ['tests/support/node-http-host.ts'], {
      ...{ PORT: String(port), BASE_URL: url, PUBLIC_METADATA: 'true' },
      NODE_COMPILE_CACHE: environmentOfPrograms().NODE_COMPILE_CACHE ?? '',
      ...{ CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'config/demo/clients.json', CLIENT_FAILURES_PER_MINUTE: '0' },
    });
    await host.answers(`${url}/oauth2/jwks`);
    const [path, method] = ['/oauth2/token', 'POST'];
    for (let round = 0; round < 2 * ROUNDS; round += 1) {
      const way = { 'x-body': round < ROUNDS ? 'toWeb' : 'the request itself' };
      const form = { ...FORM_TYPE, ...way };
      const refused = await Promise.all([
        send(url, path, { method, headers: { ...way, 'content-type': 'application/json' }, body: '{}' }),
        send(url, path, { method, headers: { ...form, 'content-encoding': 'gzip' }, body: 'x' }),
        send(url, path, { method, headers: form, body: 'x'.repeat(20 * 1024) }),
        send(url, path, { method: 'PUT', headers: form, body: 'x'.repeat((round % ROUNDS) * 1024) }),
      ]);
      expect(refused.map(({ status }) => status)).toEqual([400, 415, 413, 405]);
      expect((await requestToken(url, FORM, way)).status).toBe(200);
    }
  });
});
