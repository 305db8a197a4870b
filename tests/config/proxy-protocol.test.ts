import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProxyHeaders } from '../../adapters/proxy-protocol/proxy-headers.ts';
import { PARTS } from '../../config/parts.ts';
import { FORM, get, post } from '../hostile/hostile-request.ts';
import { openRawExchange, readAnswers } from '../hostile/raw-exchange.ts';
import { readSettings } from '../support/all-settings.ts';
import { createHttpServer } from '../support/http-server.ts';
import { proxyV1, proxyV2, proxyV2Of } from '../support/proxy-header.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { until } from '../support/until.ts';

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
  return readAnswers(exchange.received()).map(({ status }) => status);
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

  it('answers what follows, wherever the bytes are split, pipelined requests included', async () => {
    const request = `${post(FORM).replace('Connection: close\r\n', '')}${get('/')}`;
    for (const header of [proxyV1('198.51.100.7'), proxyV2('198.51.100.7', 3)]) {
      const whole = text(header, request);
      const splits = Array.from({ length: header.length + 3 }, (_, at) => [
        whole.slice(0, at + 1),
        whole.slice(at + 1),
      ]);
      const answers = await Promise.all(splits.map((writes) => statusesFor(service.port, writes)));
      expect(new Set(answers.map((statuses) => statuses.join()))).toEqual(new Set(['200,401']));
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
    expect(readAnswers(exchange.received()).map(({ status }) => status)).toEqual([401]);
  });

  it.each([
    ['no header', post(FORM)],
    ['a malformed header', 'PROXY TCP4 here there 1 2\r\n'],
    ['a header that does not end', `PROXY UNKNOWN ${'x'.repeat(300)}`],
    ['TLS', '\x16\x03\x01\x02\x00\x01'],
  ])('closes a connection of the proxy without an answer: %s', async (_name, bytes) => {
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

it('PROXY_PROTOCOL without TRUSTED_PROXIES is a problem at the start', () => {
  const settings = readSettings({ CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'a.json', PROXY_PROTOCOL: 'true' });
  expect(settings).toEqual({ ok: false, problem: ['TRUSTED_PROXIES: is required if PROXY_PROTOCOL is true'] });
});
