import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { getAccessToken, type HttpAnswer, requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceWithWorkers, startServiceWithWorkers } from '../support/service-with-workers.ts';
import { until } from '../support/until.ts';

const ISSUER = 'http://issuer.test';
const KEY = generateSigningKey('ES256');
const SIGNING_CLIENT = {
  client_id: 'signing-client',
  client_name: 'A client without a secret',
  scope: 'read',
  jwks: { keys: [{ ...KEY.jwk, kid: 'the-key' }] },
};
const UNCACHED = { ...DEMO_TOKEN_REQUEST, client_id: 'demo-client-2', client_secret: 'demo-secret-2' };

/** So many that each of two workers gets some. */
const REQUESTS = 24;

let lastId = 0;
function assertion() {
  lastId += 1;
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: SIGNING_CLIENT.client_id, sub: SIGNING_CLIENT.client_id, aud: ISSUER, iat: now, exp: now + 60 };
  return {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: compactJws({ alg: 'ES256', kid: 'the-key' }, { ...claims, jti: `one-${lastId}` }, KEY.seal),
  };
}

/** The token with the id of a key that no process knows. */
function withUnknownKid(token: string): string {
  const [, ...rest] = token.split('.');
  const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'unknown' })).toString('base64url');
  return [header, ...rest].join('.');
}

/** The answers to that many requests at once, on a new connection each. Fails if one still waits after a minute. */
async function answersTo(count: number, ask: () => Promise<HttpAnswer>): Promise<readonly HttpAnswer[]> {
  const answers: HttpAnswer[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    ask().then(
      (answer) => answers.push(answer),
      () => {},
    );
  }
  await until(() => answers.length === count, 'each request has an answer');
  return answers;
}

const statusesOf = (answers: readonly HttpAnswer[]) => new Set(answers.map(({ status }) => status));

describe('a service whose primary does not run', () => {
  let folder: string;
  let service: ServiceWithWorkers;
  let primary: number;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'primary-hangs-'));
    const file = join(folder, 'clients.json');
    const clients = JSON.parse(readFileSync('config/demo/clients.json', 'utf8')) as object[];
    writeFileSync(file, JSON.stringify([...clients, SIGNING_CLIENT]));
    service = await startServiceWithWorkers({
      CLIENTS_FILE: file,
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
      BASE_URL: ISSUER,
    });
    primary = service.program.process.pid ?? 0;
  });
  afterAll(async () => {
    await service.program[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const uncached = () => requestToken(service.url, UNCACHED);
  const cached = () => requestToken(service.url, DEMO_TOKEN_REQUEST);

  it('answers cached clients, refuses the others with 503, and recovers by itself', async () => {
    const workers = service.workerPids();
    await until(async () => {
      expect(statusesOf(await answersTo(REQUESTS, cached))).toEqual(new Set([200]));
      const issuing = service.program.stdout().matchAll(/"worker":(\d+),"request_id"/g);
      return new Set([...issuing].map(([, id]) => id)).size === workers.length;
    }, 'both workers have the secret in their caches');
    const token = await getAccessToken(service.url, DEMO_TOKEN_REQUEST.client_id, DEMO_TOKEN_REQUEST.client_secret);

    process.kill(primary, 'SIGSTOP');
    const waiting = answersTo(REQUESTS, uncached);
    const waitingAssertions = answersTo(REQUESTS, () => requestToken(service.url, assertion()));
    expect(statusesOf(await answersTo(REQUESTS, cached))).toEqual(new Set([200]));
    const refused = await waiting;
    expect(statusesOf(refused)).toEqual(new Set([503]));
    expect(refused[0]?.json()).toEqual({ error: 'temporarily_unavailable' });
    expect(statusesOf(await waitingAssertions)).toEqual(new Set([503]));
    await service.program.printed(/the primary process does not answer/);

    // By now, the keys were read so long ago that the primary is asked for an unknown one.
    const authorization = { Authorization: `Bearer ${withUnknownKid(token)}` };
    const getLocation = () => send(service.url, '/v1/locations/NYC_USA', { headers: authorization });
    expect(statusesOf(await answersTo(REQUESTS, getLocation))).toEqual(new Set([503]));
    expect(statusesOf(await answersTo(REQUESTS, uncached))).toEqual(new Set([503]));
    expect(statusesOf(await answersTo(REQUESTS, cached))).toEqual(new Set([200]));

    process.kill(primary, 'SIGCONT');
    await until(async () => (await uncached()).status === 200, 'the uncached secret gets a token');
    await until(async () => (await requestToken(service.url, assertion())).status === 200, 'an assertion gets a token');
    await until(async () => (await getLocation()).status === 401, 'a token with an unknown key is refused');
    await until(async () => {
      const samples = readSamples((await send(service.managementUrl, '/metrics')).text);
      const ofSlots = ['running', 'unanswered'].map((name) => total(samples, `auth_secret_verifications_${name}`));
      return ofSlots.every((value) => value === 0);
    }, 'no slot is held');
    expect(service.workerPids()).toEqual(workers);
    expect(service.program.stdout()).not.toContain('worker_hangs');
  });
});
