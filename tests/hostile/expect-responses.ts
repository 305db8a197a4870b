import { expect } from '@jest/globals';
import { expectDocumented } from '../support/documented-responses.ts';
import { until } from '../support/until.ts';
import { type ExpectedResponse, FORM, get, type HostileRequest, post, UNAUTHORIZED } from './hostile-request.ts';
import { type HostileService, SECRETS } from './hostile-service.ts';
import { openRawExchange, type RawResponse, readResponses } from './raw-exchange.ts';

/** The header fields that the service may send. */
const KNOWN_FIELDS = new Set(
  'allow cache-control connection content-length content-type date etag keep-alive pragma retry-after www-authenticate x-request-id'.split(
    ' ',
  ),
);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Parts of a stack, of a path in the file system, or of a library's message. */
const INTERNALS = /\.ts\b|\.js\b|node:|file:|node_modules|\/(tmp|home|root|usr|var)\/|HPE_|ERR_|\bat /;

/** Sends the request on a new connection and checks everything that holds for every hostile request. */
export async function expectHostileRequest(service: HostileService, row: HostileRequest): Promise<void> {
  const { answers: expected, connection, bytes } = row;
  const writes = typeof bytes === 'function' ? [bytes(service.forge)] : [bytes].flat();
  const isHead = (index: number) => expected[index]?.isHead === true;
  const exchange = openRawExchange(service.port, service.security);
  for (const write of writes) exchange.write(write);

  const answers = () => readResponses(exchange.received(), isHead);
  await until(() => exchange.isClosed() || answers().length >= expected.length, 'the responses arrive');
  // The next request on this connection. If the hostile one left bytes behind, it is not answered as expected.
  const next = connection === 'open' ? [UNAUTHORIZED] : [];
  if (connection === 'open') exchange.write(get('/'));
  await until(exchange.isClosed, 'the connection ends');
  expect(exchange.received()).toBe(rawOf(answers(), exchange.received()));
  await expectResponses(service, answers(), [...expected, ...next]);
}

/**
 * These answers and no more; each in the service's form, logged once, and without anything that is nobody's business.
 */
export async function expectResponses(
  service: HostileService,
  answers: readonly RawResponse[],
  expected: readonly ExpectedResponse[],
): Promise<void> {
  expect(answers.map(summary)).toEqual(
    expected.map(({ status, error, isHead }) => [status, isHead ? undefined : error]),
  );
  for (const [index, response] of answers.entries()) {
    const wanted = expected[index] ?? { status: 0 };
    expectForm(response, wanted);
    await expectLogged(service, response, wanted);
  }
}

function summary({ status, body }: RawResponse): [number, unknown] {
  return [status, body === '' ? undefined : JSON.parse(body).error];
}

function expectForm(response: RawResponse, expected: ExpectedResponse): void {
  const { headers, status, body: text } = response;
  if (!expected.isHead) {
    expectDocumented({ request: undefined, status, headers: Object.fromEntries(headers), body: text });
  }
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { 'cache-control': caching = 'no-store', ...wanted } = expected.headers ?? {};
  expect(headers.get('cache-control')).toBe(caching);
  expect(headers.get('pragma')).toBe(caching === 'no-store' ? 'no-cache' : undefined);
  expect(headers.get('x-request-id')).toMatch(UUID);
  expect(headers.has('retry-after')).toBe([429, 503].includes(response.status));
  // Only what may be cached has a tag.
  expect(headers.has('etag')).toBe(caching !== 'no-store');
  expect([...headers.keys()].filter((name) => !KNOWN_FIELDS.has(name))).toEqual([]);
  for (const [name, value] of Object.entries(wanted)) expect([name, headers.get(name)]).toEqual([name, value]);
  if (!wanted['www-authenticate']) expect(headers.has('www-authenticate')).toBe(false);
  if (expected.error === 'invalid_client' && !expected.isExplained) {
    expect(response.body).toBe('{"error":"invalid_client"}');
  }

  const body = response.body === '' ? {} : JSON.parse(response.body);
  expect(typeof body.access_token).toBe(expected.isToken ? 'string' : 'undefined');
  // In a token and in the modulus of a public key, anything may stand by chance.
  const withoutRandom = response.text.replaceAll(/"(access_token|n)":"[\w.-]+"/g, '');
  expect(withoutRandom).not.toMatch(SECRETS);
  expect(withoutRandom).not.toMatch(INTERNALS);
}

/** The one line of the request log with the request id of the response, and of the audit log for each token request. */
async function expectLogged(service: HostileService, response: RawResponse, expected: ExpectedResponse): Promise<void> {
  const id = response.headers.get('x-request-id') ?? '';
  const lines = () => service.linesOf(id).filter((line) => !isAuditLine(line));
  await until(() => lines().length > 0, 'the request is logged');
  expect(lines()).toHaveLength(1);
  const { level, status, reason, route, method } = JSON.parse(lines()[0] ?? '{}');
  const audited = service.linesOf(id).filter(isAuditLine);
  if (route !== 'none') expect(audited).toHaveLength(route === '/oauth2/token' && method === 'POST' ? 1 : 0);
  expect(audited.map((line) => JSON.parse(line).reason)).toEqual(audited.map(() => reason));
  expect({ level, status, reason }).toEqual({
    level: status >= 500 ? 'error' : 'info',
    status: expected.status,
    reason: expected.reason,
  });
}

function isAuditLine(line: string): boolean {
  return line.startsWith('{"log":"audit"');
}

/** A good request on a new connection gets its token. The service refuses one that waits for longer than 2 s. */
export async function expectNextToken(service: HostileService): Promise<void> {
  const exchange = openRawExchange(service.port, service.security);
  exchange.write(post(FORM));
  await exchange.closed;
  expect(readResponses(exchange.received()).map(({ status }) => status)).toEqual([200]);
}

/**
 * Stops the service, which is as it was: no process has ended, nothing is printed that is secret, and there was no
 * fault.
 */
export async function expectUnharmed(service: HostileService): Promise<void> {
  const isAlive = service.isAlive();
  await service[Symbol.asyncDispose]();
  const lines = service.written().split('\n');
  expect(isAlive).toBe(true);
  expect(lines.filter((line) => SECRETS.test(line))).toEqual([]);
  expect(lines.filter((line) => /"stack"|"level":"error"|"status":5/.test(line))).toEqual([]);
}

function rawOf(answers: readonly RawResponse[], received: string): string {
  const continued = received.match(/HTTP\/1\.1 100 Continue\r\n\r\n/g) ?? [];
  return [...continued, ...answers.map(({ text }) => text)].join('');
}
