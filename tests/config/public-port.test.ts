import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { ProxyHeaders } from '../../adapters/proxy-protocol/proxy-headers.ts';
import type { AuditLog } from '../../application/ports/audit-log.ts';
import { openFetchService } from '../../config/fetch.ts';
import { PARTS } from '../../config/parts.ts';
import { hostHint } from '../../config/settings/platform.ts';
import { readSettings } from '../../config/settings/settings.ts';
import { FORM, get, post } from '../hostile/hostile-request.ts';
import { openRawExchange, readResponses } from '../hostile/raw-exchange.ts';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, requestToken, send } from '../support/http.ts';
import { createHttpServer } from '../support/http-server.ts';
import { problemsIn } from '../support/problems.ts';
import { proxyV1, proxyV2, proxyV2Of } from '../support/proxy-header.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { asOperator, OPERATOR_TOKEN } from '../support/status.ts';
import { until } from '../support/until.ts';

const PROBES = ['/livez', '/readyz', '/readyz/verification'];
const OF_THE_OPERATOR = ['/metrics', '/status', '/status/data', '/openapi.json'];
const ADDED = [...PROBES, ...OF_THE_OPERATOR, '/status/refusals/unknown'];
const ON = { HEALTH_ON_PUBLIC_PORT: 'true' };

describe('the public port with default settings', () => {
  it('asks for a token everywhere, for probes and pages of the operator too', async () => {
    await using service = await startServiceUnderTest();
    for (const path of [...PROBES, ...OF_THE_OPERATOR]) expect((await send(service.url, path)).status).toBe(401);
  });
});

describe('the public port with a BASE_URL that has a path', () => {
  const BASE_URL = 'https://h.test/tenant-a';
  const METADATA = '/.well-known/oauth-authorization-server';
  const OPENID = '/.well-known/openid-configuration';
  const environment = { ...ON, BASE_URL, PUBLIC_METADATA: 'true', METADATA_COMPATIBILITY: 'oidc' };
  const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
  const CREDENTIALS = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };
  const body = String(new URLSearchParams(CREDENTIALS));
  let service: ServiceUnderTest;
  beforeAll(async () => {
    service = await startServiceUnderTest({
      environment,
      addedPaths: PROBES.flatMap((path) => [path, `/tenant-a${path}`]),
    });
  });
  afterAll(() => service.stop());

  const post = (path: string, form = body, { url } = service) =>
    send(url, path, { method: 'POST', headers: FORM_TYPE, body: form });

  it.each(['', '/tenant-a'])('answers each route with %j in front, and logs the same route', async (prefix) => {
    const issued = await post(`${prefix}/oauth2/token`);
    const authorization = `Bearer ${issued.json()['access_token']}`;
    expect(decodeJwt(String(issued.json()['access_token'])).iss).toBe(BASE_URL);
    const location = await send(service.url, `${prefix}/v1/locations/NYC_USA`, { headers: { authorization } });
    expect([issued.status, location.status]).toEqual([200, 200]);
    expect((await send(service.url, `${prefix}/v1/locations/NYC_USA`)).status).toBe(401);
    expect((await send(service.url, `${prefix}/oauth2/jwks`)).json()['keys']).toHaveLength(2);
    expect((await post(`${prefix}/oauth2/authorize`)).json()['error']).toBe('unsupported_response_type');
    expect((await send(service.url, `${prefix}/livez`)).status).toBe(200);
    const routeOf = ({ headers }: typeof issued) =>
      service.logLines().find((line) => line['request_id'] === headers['x-request-id'] && 'route' in line)?.['route'];
    expect([routeOf(issued), routeOf(location)]).toEqual(['/oauth2/token', '/v1/locations/:code']);
    // Refused before a route is matched.
    const malformed = await send(service.url, `${prefix}/oauth2/token`, { method: 'POST', headers: { host: '"' } });
    const ofRefusal = service.logLines().filter((line) => line['request_id'] === malformed.headers['x-request-id']);
    expect(ofRefusal.map((line) => line['event'])).toContain('token_refused');
  });

  it('serves the metadata in the forms of RFC 8414 and OpenID Connect, whose URLs all answer', async () => {
    for (const path of [`${METADATA}/tenant-a`, METADATA, `/tenant-a${METADATA}`, `/tenant-a${OPENID}`, OPENID]) {
      const metadata = (await send(service.url, path)).json();
      expect(metadata['issuer']).toBe(BASE_URL);
      const [token, keys] = [new URL(String(metadata['token_endpoint'])), new URL(String(metadata['jwks_uri']))];
      expect((await post(token.pathname)).status).toBe(200);
      expect((await send(service.url, keys.pathname)).status).toBe(200);
    }
  });

  it.each([
    '/tenant-a',
    '/tenant-a/',
    '/tenant-a/oauth2/token/',
    '/tenant-a/tenant-a/oauth2/token',
    '/tenant-ab/oauth2/token',
    '/Tenant-a/oauth2/token',
    '/tenant%2Da/oauth2/token',
    '//tenant-a/oauth2/token',
    '/oauth2/tenant-a/token',
    '/tenant-a/metrics',
  ])('strips nothing: %s requires a token', async (path) => {
    expect((await post(path)).status).toBe(401);
  });

  it('adds no prefix to the management port, and no path without one in BASE_URL', async () => {
    const port = await freePort();
    await using other = await startServiceUnderTest({ environment: { BASE_URL, MANAGEMENT_PORT: String(port) } });
    expect((await send(`http://127.0.0.1:${port}`, '/livez')).status).toBe(200);
    expect((await send(`http://127.0.0.1:${port}`, '/tenant-a/livez')).status).toBe(401);
    expect((await send(other.url, '/tenant-a/oauth2/jwks')).status).toBe(401);
    await using plain = await startServiceUnderTest();
    expect((await send(plain.url, '/tenant-a/oauth2/jwks')).status).toBe(401);
  });

  it('may end in /oauth2: the endpoint is behind it', async () => {
    const addedPaths = ['/oauth2/oauth2/token'];
    await using other = await startServiceUnderTest({ environment: { BASE_URL: 'https://h.test/oauth2' }, addedPaths });
    for (const path of ['/oauth2/oauth2/token', '/oauth2/token'])
      expect((await post(path, body, other)).status).toBe(200);
    expect((await post('/token', body, other)).status).toBe(401);
  });

  it('is the same for the function', async () => {
    const settings = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'config/demo/clients.json', BASE_URL };
    const opened = await openFetchService(settings, () => {});
    const form = body.replace('good-client', 'demo-client').replace(GOOD_SECRET, 'demo-secret');
    const statusOf = async (path: string) => {
      const request = new Request(`https://h.test${path}`, { method: 'POST', headers: FORM_TYPE, body: form });
      return (await opened.fetch(request)).status;
    };
    const paths = ['/oauth2/token', '/tenant-a/oauth2/token', '/tenant-a/tenant-a/oauth2/token'];
    expect(await Promise.all(paths.map(statusOf))).toEqual([200, 200, 401]);
    await opened.close();
  });
});

describe('the public port with HEALTH_ON_PUBLIC_PORT', () => {
  let service: ServiceUnderTest;
  let bearer: string;
  beforeAll(async () => {
    service = await startServiceUnderTest({ environment: ON, addedPaths: ADDED });
    bearer = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
  });
  afterAll(() => service.stop());

  it.each(PROBES)('answers %s without a token', async (path) => {
    const response = await send(service.url, path, { headers: { Host: 'any.name' } });
    expect([response.status, response.headers['cache-control']]).toEqual([200, 'no-store']);
  });

  it.each(OF_THE_OPERATOR)('has no %s without MANAGEMENT_TOKEN', async (path) => {
    expect((await send(service.url, path)).status).toBe(401);
    expect((await send(service.url, path, { headers: { Authorization: `Bearer ${bearer}` } })).status).toBe(404);
  });

  it('answers probes while a flood fills the load limit, and nothing else', async () => {
    const load = service.container.resolve(PARTS.loadLimit);
    const flood = Array.from({ length: load.max }, () => ({}));
    for (const request of flood) load.enter(request);
    expect((await send(service.url, '/oauth2/jwks')).status).toBe(503);
    for (const path of PROBES) expect((await send(service.url, path)).status).toBe(200);
    for (const request of flood) load.leave(request);
    expect(load.inFlight).toBe(0);
  });

  it('refuses other methods of a probe, and paths that only look like one', async () => {
    expect((await send(service.url, '/livez', { method: 'POST' })).status).toBe(405);
    for (const path of ['/livez/', '/LIVEZ', '/livez%20', '//livez']) {
      expect((await send(service.url, path)).status).toBe(401);
    }
  });
});

describe('the public port with HEALTH_ON_PUBLIC_PORT and MANAGEMENT_TOKEN', () => {
  let service: ServiceUnderTest;
  beforeAll(async () => {
    const environment = { ...ON, MANAGEMENT_TOKEN: OPERATOR_TOKEN };
    service = await startServiceUnderTest({ environment, addedPaths: ADDED });
  });
  afterAll(() => service.stop());

  it.each(OF_THE_OPERATOR)('answers %s to the operator, and to nobody else', async (path) => {
    const bearer = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    expect((await asOperator(service.url, path)).status).toBe(200);
    expect((await send(service.url, path)).status).toBe(401);
    expect((await send(service.url, path, { headers: { Authorization: `Bearer ${bearer}` } })).status).toBe(401);
  });

  it('still asks for an access token at every other path', async () => {
    const response = await send(service.url, '/nowhere');
    expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect((await asOperator(service.url, '/nowhere')).status).toBe(401);
    expect((await asOperator(service.url, '/status/refusals/unknown')).status).toBe(404);
  });

  it('answers the operator while 120 others guess the token', async () => {
    const headers = { Authorization: `Bearer ${'a-wrong-token'.repeat(3)}` };
    const guesses = Array.from({ length: 120 }, () => send(service.url, '/metrics', { headers }));
    for (const path of OF_THE_OPERATOR) expect((await asOperator(service.url, path)).status).toBe(200);
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([401]));
  });
});

/** What each platform sets by itself, as its documentation says. */
const PLATFORMS = {
  'Cloud Run': [{ PORT: '8080', K_SERVICE: 'token', K_REVISION: 'token-00001', K_CONFIGURATION: 'token' }, '0.0.0.0'],
  Render: [
    { PORT: '10000', RENDER: 'true', RENDER_SERVICE_ID: 'srv-1', RENDER_EXTERNAL_HOSTNAME: 'a.test' },
    '0.0.0.0',
  ],
  'Fly.io': [{ FLY_APP_NAME: 'token', FLY_REGION: 'fra', FLY_MACHINE_ID: '1', PRIMARY_REGION: 'fra' }, '::'],
  Heroku: [{ PORT: '34567', DYNO: 'web.1' }, '0.0.0.0'],
} as const;

describe('the environment of a platform', () => {
  const CLIENTS = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };

  it.each(Object.entries(PLATFORMS))('%s: makes the service reachable, without a setting', (_name, [own, host]) => {
    expect(readSettings({ ...CLIENTS, ...own })).toMatchObject({ ok: true, value: { HOST: host } });
    expect(hostHint(own, true)).toBeUndefined();
    expect(readSettings({ ...CLIENTS, ...own, HOST: '127.0.0.2' })).toMatchObject({ value: { HOST: '127.0.0.2' } });
  });

  // The others listen on the same address as the first.
  it.each(['Cloud Run', 'Fly.io'] as const)('%s: a service with it answers its probes', async (name) => {
    const environment = { ...PLATFORMS[name][0], ...ON, PORT: '0' };
    await using service = await startServiceUnderTest({ environment, addedPaths: ADDED });
    expect((await send(`http://127.0.0.1:${service.port}`, '/readyz')).status).toBe(200);
  });

  it('without a platform stays on loopback, and names the fix in a container', () => {
    expect(readSettings({ ...CLIENTS, PORT: '9000' })).toMatchObject({ ok: true, value: { HOST: '127.0.0.1' } });
    expect(hostHint({ PORT: '9000' }, true)?.fix).toContain('set HOST=0.0.0.0');
    expect(hostHint({ PORT: '9000' }, false)).toBeUndefined();
    expect(hostHint({}, true)).toBeUndefined();
    expect(hostHint({ PORT: '9000', HOST: '127.0.0.1' }, true)).toBeUndefined();
  });
});

const TRUSTED = { PROXY_PROTOCOL: 'true', TRUSTED_PROXIES: '127.0.0.1' };
const text = (...parts: readonly (Buffer | string)[]) =>
  parts.map((part) => (typeof part === 'string' ? part : part.toString('latin1'))).join('');

/** Sends these writes on one connection, and resolves with the statuses when it has ended. */
async function statusesFor(port: number, writes: readonly string[]): Promise<readonly number[]> {
  const exchange = openRawExchange(port);
  for (const write of writes) {
    exchange.write(write);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await exchange.closed;
  return readResponses(exchange.received()).map(({ status }) => status);
}

describe('a public port behind a proxy that speaks the PROXY protocol', () => {
  let service: ServiceUnderTest;
  beforeAll(async () => {
    service = await startServiceUnderTest({ environment: TRUSTED });
  });
  afterAll(async () => service.stop());

  const lastAddress = () => service.logLines().findLast(({ request_id }) => request_id)?.['remote_address'];

  it.each([
    ['version 1', proxyV1('198.51.100.7'), '198.51.100.7'],
    ['version 1, IPv6', proxyV1('2001:db8::7'), '2001:db8::7'],
    ['version 1, IPv4 as IPv6', proxyV1('::ffff:198.51.100.9'), '198.51.100.9'],
    ['version 2', proxyV2('198.51.100.8', 100), '198.51.100.8'],
    ['version 2, IPv6', proxyV2('2001:db8::8'), '2001:db8::8'],
    ['a health check of version 1', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1'],
    ['a health check of version 2', proxyV2Of(0x20, 0, []), '127.0.0.1'],
  ])('counts and logs the address of the header: %s', async (_name, header, address) => {
    expect(await statusesFor(service.port, [text(header, post(FORM))])).toEqual([200]);
    expect(lastAddress()).toBe(address);
  });

  it('does not believe a header field of the client behind it', async () => {
    const forged = post(FORM, ['X-Forwarded-For: 203.0.113.99', 'Forwarded: for=203.0.113.99']);
    expect(await statusesFor(service.port, [text(proxyV2('198.51.100.11'), forged)])).toEqual([200]);
    expect(lastAddress()).toBe('198.51.100.11');
  });

  it('answers what follows, wherever the bytes are split', async () => {
    for (const header of [proxyV1('198.51.100.7'), proxyV2('198.51.100.7', 3)]) {
      const whole = text(header, post(FORM));
      const splits = Array.from({ length: header.length + 3 }, (_, at) => [
        whole.slice(0, at + 1),
        whole.slice(at + 1),
      ]);
      const answers = await Promise.all(splits.map((writes) => statusesFor(service.port, writes)));
      expect(new Set(answers.map((statuses) => statuses.join()))).toEqual(new Set(['200']));
    }
  });

  it('answers a request with its body in later packets', async () => {
    const [head = '', body = ''] = post(FORM).split(/(?<=\r\n\r\n)/);
    expect(
      await statusesFor(service.port, [text(proxyV1('198.51.100.7')), head, body.slice(0, 9), body.slice(9)]),
    ).toEqual([200]);
    const exchange = openRawExchange(service.port);
    // What is not answered at once is lost with or without the header: such a client counts as disconnected.
    exchange.write(text(proxyV1('198.51.100.7'), get('/')));
    exchange.end();
    await exchange.closed;
    expect(readResponses(exchange.received()).map(({ status }) => status)).toEqual([401]);
  });

  it.each([
    ['no header', post(FORM)],
    ['a malformed header', 'PROXY TCP4 here there 1 2\r\n'],
    ['a header that does not end', `PROXY UNKNOWN ${'x'.repeat(300)}`],
    ['TLS', '\x16\x03\x01\x02\x00\x01'],
  ])('closes a connection of the proxy without a response: %s', async (_name, bytes) => {
    expect(await statusesFor(service.port, [bytes])).toEqual([]);
  });

  it('takes a second header for garbage, so that a client cannot send one through the proxy', async () => {
    expect(
      await statusesFor(service.port, [text(proxyV1('198.51.100.7'), proxyV1('203.0.113.9'), post(FORM))]),
    ).toEqual([400]);
    expect(lastAddress()).toBe('198.51.100.7');
    expect(
      await statusesFor(service.port, [text(proxyV2('198.51.100.7'), proxyV2('203.0.113.9'), post(FORM))]),
    ).toEqual([400]);
  });

  it('counts refused headers, and logs them at most once a minute', async () => {
    const { text: metrics } = await service.container.resolve(PARTS.processMetrics).exposition();
    expect(metrics).toMatch(/^auth_proxy_headers_refused_total 4$/m);
    const lines = service.logLines().filter(({ event }) => event === 'proxy_header_refused');
    expect(lines).toEqual([expect.objectContaining({ remote_address: '127.0.0.1', problem: 'missing or malformed' })]);
  });

  it('survives clients that reset or end at each byte of a header', async () => {
    const header = text(proxyV2('198.51.100.7'), 'POST /');
    const exchanges = Array.from({ length: 2 * header.length }, (_, index) => {
      const exchange = openRawExchange(service.port);
      exchange.write(header.slice(0, Math.floor(index / 2)));
      setImmediate(() => (index % 2 === 0 ? exchange.reset() : exchange.end()));
      return exchange.closed;
    });
    await Promise.all(exchanges);
    expect(await statusesFor(service.port, [text(proxyV1('198.51.100.7'), post(FORM))])).toEqual([200]);
  });
});

describe('a public port with trusted proxies elsewhere', () => {
  it('takes a header for garbage, and needs none', async () => {
    const environment = { ...TRUSTED, TRUSTED_PROXIES: '192.0.2.0/24' };
    await using service = await startServiceUnderTest({ environment });
    expect(await statusesFor(service.port, [post(FORM)])).toEqual([200]);
    expect(await statusesFor(service.port, [text(proxyV1('198.51.100.7'), post(FORM))])).toEqual([400]);
    expect(await statusesFor(service.port, [text(proxyV2('198.51.100.7'), post(FORM))])).toEqual([400]);
    expect(service.logLines().every(({ remote_address = '127.0.0.1' }) => remote_address === '127.0.0.1')).toBe(true);
  });
});

describe('a proxy that does not send its header', () => {
  it('is disconnected after the deadline, counts as a connection until then, and does not hold up the end', async () => {
    const refused: object[] = [];
    const { layer } = new ProxyHeaders({
      isTrusted: () => true,
      onRefused: (line) => refused.push(line),
      withinMs: 50,
    });
    const server = createHttpServer([], { layers: [layer], connectionsMax: 1 });
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    const silent: Socket = connect(port, '127.0.0.1').on('error', () => {});
    silent.write('PROXY ');
    await until(() => server.load.connections === 1, 'the connection counts');
    const second = connect(port, '127.0.0.1').on('error', () => {});
    await Promise.all([once(second.resume(), 'close'), once(silent.resume(), 'close')]);
    await until(() => server.load.connections === 0, 'no connection counts');
    expect(server.load.dropped).toBe(1);
    expect(refused).toEqual([{ event: 'proxy_header_refused', remote_address: '127.0.0.1', problem: 'too late' }]);
    await server.close(0, () => {});
  });

  it('does not hold up the end', async () => {
    const { layer } = new ProxyHeaders({ isTrusted: () => true, onRefused: () => {} });
    const server = createHttpServer([], { layers: [layer] });
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    const silent = connect(port, '127.0.0.1').on('error', () => {});
    silent.write('PROXY ');
    await until(() => server.load.connections === 1, 'the connection counts');
    await Promise.all([server.close(60_000, () => {}), once(silent.resume(), 'close')]);
  });
});

it('PROXY_PROTOCOL without TRUSTED_PROXIES is a problem at startup', () => {
  const settings = readSettings({ CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'a.json', PROXY_PROTOCOL: 'true' });
  expect(problemsIn(settings)).toEqual(['TRUSTED_PROXIES: is required if PROXY_PROTOCOL is true']);
});

describe('TOKEN_REUSE_SECONDS', () => {
  const FORM = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };

  it('issues a token again to a client that authenticates again, which the audit log says', async () => {
    const lines: string[] = [];
    const service = await startServiceUnderTest({
      environment: { TOKEN_REUSE_SECONDS: '60' },
      override: (container) => {
        const record: AuditLog['record'] = async (event) => void lines.push(JSON.stringify(event));
        container.registerInstance(PARTS.auditLog, { record });
      },
    });
    const [first, again, other, wrong] = [
      await requestToken(service.url, FORM),
      await requestToken(service.url, FORM),
      await requestToken(service.url, { ...FORM, scope: 'read' }),
      await requestToken(service.url, { ...FORM, client_secret: 'wrong' }),
    ];
    await service.stop();
    expect(again.json()['access_token']).toBe(first.json()['access_token']);
    expect(other.json()['access_token']).not.toBe(first.json()['access_token']);
    expect(wrong.status).toBe(401);
    const issued = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'token_issued');
    expect(issued.map(({ reused }) => reused)).toEqual([undefined, true, undefined]);
    const { exp = 0 } = decodeJwt(String(first.json()['access_token']));
    // The event is recorded within a second after the response was decided.
    expect([0, 1]).toContain(Number(again.json()['expires_in']) - (exp - issued[1].at));
    expect(issued[1].token_id).toBe(issued[0].token_id);
    expect(issued[1].request_id).not.toBe(issued[0].request_id);
  });

  it('must leave each token some time', async () => {
    const environment = { TOKEN_REUSE_SECONDS: '151', TOKEN_LIFETIME_SECONDS: '300' };
    await expect(startServiceUnderTest({ environment })).rejects.toThrow(
      'TOKEN_REUSE_SECONDS: must be at most half of',
    );
  });
});

describe('the start of a service', () => {
  const other = createServer();
  afterAll(() => {
    other.close();
  });

  it('fails if another service has begun to share its port while it prepared its keys', async () => {
    const port = await freePort();
    const listenMeanwhile = async () => {
      other.listen({ port, host: '127.0.0.1', reusePort: true });
      await once(other, 'listening');
    };
    const started = startServiceUnderTest({
      environment: { PORT: String(port), HOST: '127.0.0.1' },
      features: [{ prepare: listenMeanwhile }],
    });
    const outcome = await started.then(
      (service) => service.stop(),
      (fault: Error) => fault.message,
    );
    expect(outcome).toContain('EADDRINUSE');
  });
});
