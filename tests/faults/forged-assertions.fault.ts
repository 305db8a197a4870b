import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { type AttackingConnection, ConnectionFlood } from '../../lab/bench/attack/connection-flood.ts';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { assertionFields, forgedRequestBody } from '../support/forged-assertion.ts';
import { type HttpResponse, requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';
import { WorkloadKey } from '../support/workload-issuer.ts';

const AUDIENCE = 'http://issuer.test';
const PLATFORM = 'https://platform.test';
const KEY = generateSigningKey('ES256');
const PLATFORM_KEY = new WorkloadKey('platform', 'ES384');

/** More than the FIFO queue holds of the most expensive assertions. */
const CONNECTIONS = 150;
const CLIENTS = 10;
/** How often an honest client sends its request, with what Retry-After says between. */
const ATTEMPTS = 4;

const named = (prefix: string) => Array.from({ length: CLIENTS }, (_, number) => `${prefix}-${number}`);
const about = (client_id: string) => ({ client_id, client_name: 'A client of the test', scope: 'read' });
const now = () => Math.floor(Date.now() / 1_000);

const REGISTERED = [
  ...named('cached').map((id) => ({ ...about(id), client_secret: '{noop}its-secret' })),
  ...named('signing').map((id) => ({ ...about(id), jwks: { keys: [KEY.jwk] } })),
  ...named('workload').map((id) => ({
    ...about(id),
    federated_subjects: [{ issuer: PLATFORM, subject: id, claims: {} }],
  })),
];

const byKey = {
  clients: named('signing'),
  sign(sub: string) {
    const claims = { iss: sub, sub, aud: AUDIENCE, exp: now() + 200, jti: randomUUID() };
    return compactJws({ alg: 'ES256' }, claims, KEY.seal);
  },
  forge: (number: number) => ({ iss: `client-${number}`, sub: `client-${number}`, aud: AUDIENCE }),
};

const METHODS = [
  { method: 'private_key_jwt', ...byKey, use: 'client', refused: '401' },
  { method: 'the grant jwt-bearer', ...byKey, use: 'grant', refused: '400' },
  {
    method: 'federated_jwt',
    clients: named('workload'),
    sign: (sub: string) =>
      PLATFORM_KEY.mint({ claims: { iss: PLATFORM, sub, aud: AUDIENCE, iat: now(), exp: now() + 200 } }),
    forge: (number: number) => ({ iss: PLATFORM, sub: `workload-x-${number}`, aud: AUDIENCE }),
    use: 'client',
    refused: '401',
  },
] as const;

describe.each(METHODS)('a flood of forged assertions of $method', ({ clients, sign, forge, use, refused }) => {
  it('leaves a token for each cached secret at once, and for each client that signs its assertions', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'forged-'));
    const [clientsFile, issuersFile] = [join(folder, 'clients.json'), join(folder, 'issuers.json')];
    await writeFile(clientsFile, JSON.stringify(REGISTERED));
    const jwks = { keys: [PLATFORM_KEY.jwk({ alg: 'ES384' })] };
    await writeFile(issuersFile, JSON.stringify([{ issuer: PLATFORM, jwks, preset: 'none' }]), { mode: 0o600 });
    const backend = await freeBackend();
    const url = `http://127.0.0.1:${backend.port}`;
    await using replica = startReplica(backend, {
      CLIENTS_FILE: clientsFile,
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt,federated_jwt',
      CLIENT_ASSERTION_ISSUERS_FILE: issuersFile,
      GRANT_TYPES: 'client_credentials,jwt-bearer',
      TOKEN_ISSUER: AUDIENCE,
    });
    await replica.printed(/"event":"started"/);
    const withSecret = (client_id: string) =>
      requestToken(url, { ...DEMO_TOKEN_REQUEST, client_id, client_secret: 'its-secret' });
    const signed = async (client: string): Promise<HttpResponse> => {
      for (let attempt = 1; ; attempt += 1) {
        const response = await requestToken(url, assertionFields(sign(client), use));
        if (response.status !== 503 || attempt === ATTEMPTS) return response;
        await delay(Number(response.headers['retry-after']) * 1_000);
      }
    };
    for (const client of named('cached')) expect((await withSecret(client)).status).toBe(200);

    let forged = 0;
    const begin = (connection: AttackingConnection) => {
      const next = () => {
        forged += 1;
        const body = forgedRequestBody(forge(forged), '', use);
        const head = 'POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded';
        connection.afterResponse(next);
        connection.send(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      };
      next();
    };
    const flood = new ConnectionFlood(backend.port, CONNECTIONS, { begin });
    const managementUrl = `http://127.0.0.1:${backend.managementPort}`;
    const samples = async () => readSamples((await send(managementUrl, '/metrics')).text);
    const overflow = 'auth_assertion_verifications_overflow';
    await until(async () => total(await samples(), overflow) > 0, 'forged assertions wait in the overflow queue');

    const [cached, honest] = await Promise.all([
      Promise.all(named('cached').map(withSecret)),
      Promise.all(clients.map(signed)),
    ]);
    expect(cached.map(({ status }) => status)).toEqual(cached.map(() => 200));
    expect(honest.map(({ status }) => status)).toEqual(honest.map(() => 200));
    await until(() => (flood.answers['503'] ?? 0) > 0, 'a forged assertion gets 503');
    expect(flood.answers[refused]).toBeGreaterThan(0);
    expect(flood.answers).not.toHaveProperty('200');
    const counted = { status: '503', reason: 'slots_exhausted' };
    expect(total(await samples(), 'auth_requests_total', counted)).toBeGreaterThan(0);
    flood.end();
    await rm(folder, { recursive: true });
  }, 120_000);
});
