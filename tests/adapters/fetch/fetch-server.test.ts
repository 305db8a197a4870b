import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type FetchService, openFetchService } from '../../../config/fetch.ts';

const CLIENTS_FILE = 'config/demo/clients.json';
const TOKEN_URL = 'https://auth.example/oauth2/token';
const SETTINGS = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE,
  BASE_URL: 'https://auth.example',
  PUBLIC_METADATA: 'true',
};
const FORM = { grant_type: 'client_credentials', client_id: 'demo-client', client_secret: 'demo-secret' };

const lines: Record<string, unknown>[] = [];
let service: FetchService;
beforeAll(async () => {
  service = await openFetchService(SETTINGS, (line) => lines.push(JSON.parse(line)));
});
afterAll(() => service.close());

const post = (body: NonNullable<RequestInit['body']>, more: RequestInit = {}) =>
  new Request(TOKEN_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
    duplex: 'half',
    ...more,
  } as RequestInit);

/** A body that sends these parts, and then does what `end` does. */
const streamed = (
  parts: readonly string[],
  end: (controller: ReadableStreamDefaultController) => void | Promise<void>,
) => {
  const rest = parts.map((part) => new TextEncoder().encode(part));
  return new ReadableStream({
    pull(controller) {
      const part = rest.shift();
      if (part === undefined) return end(controller);
      controller.enqueue(part);
    },
  });
};

it('issues a token, and writes the address of the caller to the log', async () => {
  const response = await service.fetch(post(new URLSearchParams(FORM)), { remoteAddress: '192.0.2.7' });
  expect(await response.json()).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 300 });
  const id = response.headers.get('x-request-id');
  expect(lines).toContainEqual(expect.objectContaining({ request_id: id, status: 200, remote_address: '192.0.2.7' }));
});

it.each(['', 'localhost', '192.0.2.7:80', '[2001:db8::1]', 'x'.repeat(1_000), '192.0.2.7\n{"level":"info"}'])(
  'refuses the address %j, which is no IP address, and writes no line',
  async (remoteAddress) => {
    const before = lines.length;
    await expect(service.fetch(post(new URLSearchParams(FORM)), { remoteAddress })).rejects.toThrow(
      new TypeError('remoteAddress: must be an IP address, without a port'),
    );
    expect(lines).toHaveLength(before);
  },
);

it.each(['2001:db8::1', 'fe80::1%eth0', '::ffff:192.0.2.7'])('accepts the address %s', async (remoteAddress) => {
  expect((await service.fetch(post(new URLSearchParams(FORM)), { remoteAddress })).status).toBe(200);
});

it('reads a body that arrives in parts', async () => {
  const parts = [...String(new URLSearchParams(FORM))];
  const response = await service.fetch(post(streamed(parts, (controller) => controller.close())));
  expect(response.status).toBe(200);
});

it('answers several requests at once', async () => {
  const answers = await Promise.all(Array.from({ length: 100 }, () => service.fetch(post(new URLSearchParams(FORM)))));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const ids = answers.map(({ headers }) => headers.get('x-request-id'));
  expect(new Set(ids).size).toBe(100);
});

it.each([
  ['more than 100 header fields', Object.fromEntries(Array.from({ length: 101 }, (_, number) => [`x-${number}`, '']))],
  ['more than 8 KiB of header fields', { 'x-large': 'x'.repeat(8_192) }],
])('refuses %s', async (_what, headers) => {
  const response = await service.fetch(post(new URLSearchParams(FORM), { headers }));
  expect(response.status).toBe(431);
  expect(await response.json()).toMatchObject({ error: 'invalid_request' });
});

it('stops reading a body that does not end', async () => {
  let sent = 0;
  const cancel = () => {
    throw new Error('Node.js may end the process');
  };
  const endless = (controller: ReadableStreamDefaultController) => {
    sent += 1;
    controller.enqueue(new Uint8Array(1_024).fill(97));
  };
  const response = await service.fetch(post(new ReadableStream({ pull: endless, cancel })));
  expect(response.status).toBe(413);
  await service.fetch(post(new URLSearchParams(FORM)));
  expect(sent).toBeLessThan(32);
});

it.each<[string, () => Request]>([
  ['whose stream fails', () => post(streamed(['grant_type='], (controller) => controller.error(new Error('lost'))))],
  [
    'that the caller abandons',
    () =>
      post(
        streamed(['grant_type='], () => Promise.withResolvers<void>().promise),
        { signal: AbortSignal.timeout(50) },
      ),
  ],
])('counts a request %s as disconnected', async (_name, request) => {
  const response = await service.fetch(request());
  const id = response.headers.get('x-request-id');
  expect(lines.find(({ request_id }) => request_id === id)?.['reason']).toBe('client_disconnected');
});

it('counts a caller who disconnects while the secret is verified as disconnected', async () => {
  const gone = AbortSignal.timeout(1);
  const wrong = new URLSearchParams({ ...FORM, client_id: 'demo-client-2', client_secret: 'wrong' });
  const response = await service.fetch(post(wrong, { signal: gone }));
  const id = response.headers.get('x-request-id');
  expect(lines.find(({ request_id }) => request_id === id)?.['reason']).toBe('client_disconnected');
});

it('rejects a request whose body was read before, and can be closed afterwards', async () => {
  const closing = await openFetchService(SETTINGS, () => {});
  const read = post(new URLSearchParams(FORM));
  await read.text();
  await expect(closing.fetch(read)).rejects.toThrow('locked');
  await closing.close();
});

it('answers although the log cannot be written', async () => {
  const mute = await openFetchService(SETTINGS, () => {
    throw new Error('the collector is closed');
  });
  expect((await mute.fetch(post(new URLSearchParams(FORM)))).status).toBe(200);
  expect((await mute.fetch(new Request(TOKEN_URL))).status).toBe(405);
  await mute.close();
});

it('answers HEAD and 304 without a body', async () => {
  const url = 'https://auth.example/oauth2/jwks';
  const head = await service.fetch(new Request(url, { method: 'HEAD' }));
  expect([head.status, await head.text()]).toEqual([200, '']);
  const headers = { 'if-none-match': head.headers.get('etag') ?? '' };
  const fresh = await service.fetch(new Request(url, { headers }));
  expect([fresh.status, await fresh.text()]).toEqual([304, '']);
});

it('ignores what a caller says about the connection', async () => {
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': '1',
    'transfer-encoding': 'gzip',
    host: 'attacker.example',
    expect: '100-continue',
  };
  const request = post(new URLSearchParams(FORM));
  const forged = { ...headers, [Symbol.iterator]: () => Object.entries(headers)[Symbol.iterator]() };
  const response = await service.fetch(
    new Proxy(request, {
      get: (target, name) => {
        const value = name === 'headers' ? forged : Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
  );
  expect(response.status).toBe(200);
});

it('refuses two Authorization fields, which a Request joins', async () => {
  const headers = new Headers([
    ['authorization', 'Bearer a'],
    ['authorization', 'Bearer b'],
  ]);
  const response = await service.fetch(new Request('https://auth.example/v1/locations/NYC_USA', { headers }));
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({ error: 'invalid_request' }),
  ]);
});

it('reports all problems of its settings', async () => {
  const settings = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE, TOKEN_LIFETIME_SECONDS: '0' };
  await expect(openFetchService(settings)).rejects.toThrow(
    /^TOKEN_LIFETIME_SECONDS: must be a whole number from 1 to 86400\nBASE_URL: is required, since there is no fixed port/,
  );
});

it.each([60, null, true])('refuses a setting that is no string: %p', async (value) => {
  const settings = JSON.parse(JSON.stringify({ ...SETTINGS, TOKEN_LIFETIME_SECONDS: value }));
  await expect(openFetchService(settings)).rejects.toThrow(
    'TOKEN_LIFETIME_SECONDS: must be a whole number from 1 to 86400',
  );
});

it('opens no management port for an empty MANAGEMENT_PORT', async () => {
  const settings = { ...SETTINGS, MANAGEMENT_PORT: '', MANAGEMENT_TOKEN: 'an-operator-token-of-32-characters' };
  await expect(openFetchService(settings)).rejects.toThrow('set MANAGEMENT_PORT=8081');
});

it('finishes what is in progress when it is closed, and answers nothing afterwards', async () => {
  const closing = await openFetchService(SETTINGS, () => {});
  const gate = Promise.withResolvers<void>();
  const slow = closing.fetch(
    post(
      streamed([String(new URLSearchParams(FORM))], (controller) => void gate.promise.then(() => controller.close())),
    ),
  );
  const closed = closing.close();
  gate.resolve();
  expect((await slow).status).toBe(200);
  await closed;
  await expect(closing.fetch(post(new URLSearchParams(FORM)))).rejects.toThrow('the service is closed');
});
