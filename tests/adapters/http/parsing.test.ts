import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { clientAddressBehind } from '../../../adapters/http/parsing/client-address.ts';
import { parseForm } from '../../../adapters/http/parsing/form.ts';
import { ownHosts } from '../../../adapters/http/parsing/own-hosts.ts';
import { readRequestHead } from '../../../adapters/http/parsing/request-head.ts';
import type { Exchange } from '../../../adapters/http/server/exchange.ts';
import { HTTP_TIMEOUTS } from '../../../adapters/http/server/http-server.ts';
import { requireBearer } from '../../../adapters/http/server/require-bearer.ts';
import type { AuthorizeRequest } from '../../../application/authorize-request.ts';
import { refused } from '../../../domain/refusal.ts';
import { anyText } from '../../support/any-text.ts';
import { sendRaw } from '../../support/http.ts';
import { until } from '../../support/until.ts';
import { serviceForSuite } from './service-for-suite.ts';

describe('parseForm', () => {
  /**
   * Texts that a form can look like: separators, percent-encodings of every kind, names of objects, and anything else.
   */
  const formText = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '&',
          '=',
          '+',
          '%',
          ';',
          '[]',
          '.',
          '\0',
          '\ufeff',
          '__proto__',
          'client_id',
          '\ud800',
          '%ED%A0%80',
        ),
        fc.integer({ min: 0, max: 255 }).map((byte) => `%${byte.toString(16).padStart(2, '0')}`),
        fc.string({ unit: 'grapheme', maxLength: 5 }),
      ),
      { maxLength: 60 },
    )
    .map((parts) => parts.join(''));
  const pairs = fc.uniqueArray(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), {
    selector: ([name]) => name,
    maxLength: 50,
  });

  it('reads what URLSearchParams writes, for every flat set of names and values', () => {
    fc.assert(
      fc.property(pairs, (entries) => {
        const wellFormed = entries.map(
          ([name, value]) => [name.toWellFormed(), value.toWellFormed()] as [string, string],
        );
        const form = parseForm(new URLSearchParams(wellFormed).toString());
        expect(form.ok && [...form.value.parameters]).toEqual(wellFormed);
      }),
    );
  });

  it('never disagrees with URLSearchParams on a text that it accepts', () => {
    fc.assert(
      fc.property(formText, (text) => {
        const form = parseForm(text.toWellFormed());
        if (form.ok) expect([...form.value.parameters]).toEqual([...new URLSearchParams(`&${text.toWellFormed()}`)]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('reads again what it has read and URLSearchParams has written', () => {
    fc.assert(
      fc.property(formText, (text) => {
        const form = parseForm(text.toWellFormed());
        if (!form.ok) return;
        const again = parseForm(new URLSearchParams([...form.value.parameters]).toString());
        expect(again.ok && [...again.value.parameters]).toEqual([...form.value.parameters]);
      }),
      { numRuns: 500 },
    );
  });

  it('reads every value of resource, which alone may be repeated', () => {
    const form = parseForm('resource=a&scope=s&resource=b&resource=');
    expect(form).toEqual({ ok: true, value: { parameters: new Map([['scope', 's']]), resources: ['a', 'b', ''] } });
    expect(parseForm('Resource=a&Resource=b')).toEqual({ ok: false, problem: 'parameter_repeated' });
  });

  it('never throws, and says of every text that it does not read which rule it breaks', () => {
    const rules = ['form_encoding_malformed', 'parameters_too_many', 'parameter_repeated'];
    fc.assert(
      fc.property(fc.oneof(formText, anyText({ maxLength: 200 })), (text) => {
        const form = parseForm(text);
        if (!form.ok) expect(rules).toContain(form.problem);
        else expect(form.value.parameters.size + form.value.resources.length).toBeLessThanOrEqual(50);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never reads a text in which a parameter is repeated, however its name is written', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'é', '=', '&', '%', '+', ' '), minLength: 1, maxLength: 5 });
    const written = (text: string) =>
      fc.constantFrom(
        encodeURIComponent(text),
        [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
        new URLSearchParams([[text, '']]).toString().slice(0, -1),
      );
    fc.assert(
      fc.property(
        name.chain((text) => fc.tuple(written(text), written(text))),
        pairs,
        ([one, other], between) => {
          const text = `${one}=1&${new URLSearchParams(between.slice(0, 40))}&${other}`;
          expect(parseForm(text)).toEqual({ ok: false, problem: 'parameter_repeated' });
        },
      ),
    );
  });
});

describe('what Node’s HTTP parser refuses', () => {
  const FORM = 'grant_type=client_credentials&client_id=good-client&client_secret=good-secret';
  const POST = 'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n';

  /** The parts of the last response on a connection. */
  function lastResponse(received: string): { status: number; headers: string; body: Record<string, unknown> } {
    const response = received.split(/(?=HTTP\/1\.1 \d{3} )/).at(-1) ?? '';
    const [headers = '', body = ''] = response.split('\r\n\r\n');
    return { status: Number(headers.slice(9, 12)), headers, body: JSON.parse(body) };
  }

  const service = serviceForSuite({
    limits: {
      httpTimeouts: {
        ...HTTP_TIMEOUTS,
        headersMs: 300,
        requestMs: 600,
        keepAliveMs: 300,
        unreadMs: 60_000,
        checkEveryMs: 50,
      },
    },
  });

  // tests/hostile has what else no client of ours sends.
  const CLOSING = 'Host: x\r\nConnection: close\r\n\r\n';
  it.each([
    [
      'a length beside chunks (request smuggling)',
      400,
      'request_malformed',
      `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'more than 100 header fields',
      431,
      'header_fields_too_large',
      `GET / HTTP/1.1\r\n${'A:\r\n'.repeat(99)}${CLOSING}`,
    ],
    ['a header section that does not end in time', 408, 'request_timeout', `${POST}A: `],
    ['a body that does not end in time', 408, 'request_timeout', `${POST}Content-Length: 100\r\n\r\ngrant_type=`],
    ['two Hosts', 400, 'host_malformed', `GET / HTTP/1.1\r\nHost: a\r\n${CLOSING}`],
  ])('answers %s in JSON', async (_name, status, reason, request) => {
    const response = lastResponse(await sendRaw(service().port, request));
    expect(response.status).toBe(status);
    expect(response.body['error']).toBe('invalid_request');
    expect(response.headers).toMatch(/\r\nContent-Type: application\/json; charset=utf-8\r\n/i);
    expect(response.headers).toMatch(/\r\nCache-Control: no-store\r\n/i);
    expect(response.headers).toMatch(/\r\nDate: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT(\r\n|$)/);
    const requestId = /\r\nX-Request-Id: (\S+)/i.exec(response.headers)?.[1];
    const lines = () =>
      service()
        .logLines()
        .filter((line) => line['request_id'] === requestId && line['log'] !== 'audit');
    await until(() => lines().length > 0, 'the request is logged');
    expect(lines()).toEqual([expect.objectContaining({ status, reason })]);
  });

  it('answers the next request on a connection after a body over 16 KiB, which it discards', async () => {
    const tooLarge = `${POST}Transfer-Encoding: chunked\r\n\r\n5000\r\n${'x'.repeat(0x5000)}\r\n0\r\n\r\n`;
    const next = `${POST}Content-Length: ${FORM.length}\r\nConnection: close\r\n\r\n${FORM}`;
    const received = await sendRaw(service().port, tooLarge, next);
    expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  it('reads a body of exactly 16 KiB in chunks of one byte, which also cut a character', async () => {
    const form = Buffer.from(`${FORM}&ignored=é`.padEnd(16 * 1024 - 1, 'x'));
    const chunks = [...form].flatMap((_, index) => ['1\r\n', form.subarray(index, index + 1), '\r\n']);
    const head = `${POST}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    const request = Buffer.concat([head, ...chunks, '0\r\n\r\n'].map((part) => Buffer.from(part)));
    expect(lastResponse(await sendRaw(service().port, request))).toMatchObject({ status: 200 });
  });

  it('refuses a Content-Encoding before the body is sent', async () => {
    const response = await sendRaw(
      service().port,
      `${POST}Content-Encoding: br\r\nContent-Length: 100\r\nConnection: close\r\n\r\n`,
    );
    expect(lastResponse(response)).toMatchObject({ status: 415 });
  });

  it('answers a client that waits for 100 Continue, and one that expects something unknown', async () => {
    for (const expectation of ['100-continue', 'coffee']) {
      const head = `${POST}Expect: ${expectation}\r\nContent-Length: ${FORM.length}\r\nConnection: close\r\n\r\n`;
      expect(lastResponse(await sendRaw(service().port, head, FORM))).toMatchObject({ status: 200 });
    }
  });

  it('uses only the path of an absolute request target', async () => {
    const response = await sendRaw(
      service().port,
      `GET http://evil.test/oauth2/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(lastResponse(response)).toMatchObject({ status: 405 });
  });

  it('closes the connection after a request for an upgrade, since Node discards what follows it', async () => {
    const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const received = await sendRaw(service().port, `${upgrade}GET / HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(received.match(/HTTP\/1\.1 401/g)).toHaveLength(1);
    expect(received).toMatch(/\r\nConnection: close\r\n/i);
  });

  it('sends 100 Continue to a client that waits for it, unless the request is refused already', async () => {
    const waiting = (length: number) =>
      `${POST}Expect: 100-continue\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(service().port, waiting(FORM.length), FORM)).toMatch(/^HTTP\/1\.1 100 Continue/);
    expect(await sendRaw(service().port, waiting(16_385))).toMatch(/^HTTP\/1\.1 413/);
  });

  it('sends nothing after a refusal that did not wait for the body', async () => {
    const received = await sendRaw(service().port, `${POST}Content-Length: 20000\r\n\r\n${'x'.repeat(100)}`);
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(lastResponse(received)).toMatchObject({ status: 413 });
  });

  it('answers the first of two pipelined requests and closes, and of more none', async () => {
    const one = `${POST}Content-Length: ${FORM.length}\r\n\r\n${FORM}`;
    const received = await sendRaw(service().port, one.repeat(2));
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(1);
    expect(received).toMatch(/\r\nConnection: close\r\n/i);
    expect(await sendRaw(service().port, one.repeat(40))).toBe('');
  });

  it('logs a client that disconnects before its body has arrived, and continues to serve others', async () => {
    const before = service().logLines().length;
    const socket = connect(service().port, '127.0.0.1');
    socket.write(`${POST}Content-Length: 100\r\n\r\ngrant_type=`, () => socket.destroy());
    await until(
      () =>
        service()
          .logLines()
          .slice(before)
          .some((line) => line['reason'] === 'client_disconnected'),
      'the disconnection is logged',
    );
    const response = await sendRaw(
      service().port,
      `${POST}Connection: close\r\nContent-Length: ${FORM.length}\r\n\r\n${FORM}`,
    );
    expect(lastResponse(response)).toMatchObject({ status: 200 });
  });
});

describe('ownHosts', () => {
  const answersHost = ownHosts(['Metrics.internal', 'auth_1']);

  it.each([
    'localhost',
    'LOCALHOST:8081',
    'localhost.',
    'auth.localhost:1',
    '127.0.0.1',
    '10.1.2.3:8081',
    '[::1]',
    '[2001:db8::17]:8081',
    '[::ffff:127.0.0.1]',
    'metrics.internal',
    'METRICS.INTERNAL.:9090',
    'auth_1:8081',
    'localhost:',
  ])('accepts %s', (host) => {
    expect(answersHost(host)).toBe(true);
  });

  it.each([
    undefined,
    '',
    ':8081',
    '.',
    'attacker.test',
    'attacker.test:8081',
    'localhost.attacker.test',
    'a.localhost.attacker.test',
    'notlocalhost',
    'evil-localhost',
    'metrics.internal.attacker.test',
    'amcetrics.internal',
    'x.metrics.internal',
    '127.0.0.1.attacker.test',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '[attacker.test]',
    '[::1].attacker.test',
    '[::1',
    '::1',
    'attacker.test:localhost',
    'localhost:8081:1',
    'localhost:port',
    'localhost@attacker.test',
    'attacker.test,localhost',
  ])('refuses %s', (host) => {
    expect(answersHost(host)).toBe(false);
  });

  it('accepts no name of its own but those of the loopback interface', () => {
    expect(['localhost', 'metrics.internal'].map(ownHosts([]))).toEqual([true, false]);
  });
});

describe('addresses of clients', () => {
  /** All of 127.0.0.0/8 is this machine, so a test can send from a trusted and from an untrusted address. */
  const TRUSTED = '127.0.0.1';
  const UNTRUSTED = '127.0.0.2';

  const SETTINGS = { TRUSTED_PROXIES: '127.0.0.1/32, 10.0.0.0/8,2001:db8:ffff::/48', CLIENT_FAILURES_PER_MINUTE: '2' };

  interface Attempt {
    readonly from?: string;
    readonly headers?: Readonly<Record<string, string | string[]>>;
    readonly clientId?: string;
  }

  function manyHops(count: number): readonly string[] {
    return Array<string>(count).fill('10.1.2.3');
  }

  /** Asks for a token with a wrong secret; resolves with the status and the request id. */
  function attempt(port: number, { from = TRUSTED, headers = {}, clientId = 'nobody' }: Attempt = {}) {
    const options = {
      host: '127.0.0.1',
      port,
      path: '/oauth2/token',
      method: 'POST',
      localAddress: from,
      agent: false,
    };
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: 'wrong-secret',
    });
    const contentType = { 'Content-Type': 'application/x-www-form-urlencoded' };
    return new Promise<{ status: number; requestId: string }>((resolve, reject) => {
      const outgoing = request({ ...options, headers: { ...contentType, ...headers } }, (incoming) => {
        const { statusCode: status = 0, headers: received } = incoming.resume();
        incoming.once('end', () => resolve({ status, requestId: String(received['x-request-id']) }));
      });
      outgoing.once('error', reject);
      outgoing.end(form.toString());
    });
  }

  describe('the address of a client behind trusted proxies', () => {
    const service = serviceForSuite({ environment: SETTINGS });

    async function loggedAddress(sent: Attempt): Promise<unknown> {
      const { requestId } = await attempt(service().port, { clientId: crypto.randomUUID(), ...sent });
      const line = () =>
        service()
          .logLines()
          .find((logged) => logged['request_id'] === requestId);
      await until(() => line() !== undefined, 'the request is logged');
      return line()?.['remote_address'];
    }
    const xForwardedFor = (...values: string[]): Attempt => ({ headers: { 'X-Forwarded-For': values } });

    it.each<[string, Attempt, string]>([
      ['one proxy', xForwardedFor('192.0.2.1'), '192.0.2.1'],
      ['two trusted proxies', xForwardedFor('192.0.2.1, 10.1.2.3'), '192.0.2.1'],
      ['two trusted proxies, with a header line of each', xForwardedFor('192.0.2.1', '10.1.2.3'), '192.0.2.1'],
      ['a proxy that is not trusted', xForwardedFor('192.0.2.1, 198.51.100.7'), '198.51.100.7'],
      ['a list that a client began itself', xForwardedFor('6.6.6.6, 192.0.2.1, 10.1.2.3'), '192.0.2.1'],
      ['a client inside of the trusted network', xForwardedFor('10.9.9.9, 10.1.2.3'), '10.9.9.9'],
      ['a port', xForwardedFor('192.0.2.1:4711'), '192.0.2.1'],
      ['an IPv6 address', xForwardedFor('2001:DB8:0:0::0017'), '2001:db8::17'],
      ['an IPv6 address and a port', xForwardedFor('[2001:db8::17]:4711'), '2001:db8::17'],
      ['a trusted IPv6 proxy', xForwardedFor('192.0.2.1, 2001:db8:ffff:1::2'), '192.0.2.1'],
      ['an IPv4 address that is written as IPv6', xForwardedFor('::FFFF:c000:201'), '192.0.2.1'],
      ['a trusted proxy that is written as IPv6', xForwardedFor('192.0.2.1, ::ffff:10.1.2.3'), '192.0.2.1'],
      ['an entry that is no address', xForwardedFor('192.0.2.1, unknown, 10.1.2.3'), '10.1.2.3'],
      ['an empty element, which counts for nothing', xForwardedFor('192.0.2.1,, 10.1.2.3'), '192.0.2.1'],
      ['an empty element at the end', xForwardedFor('192.0.2.1,'), '192.0.2.1'],
      ['only empty elements', xForwardedFor(', ,'), TRUSTED],
      ['more empty elements than are read', xForwardedFor(`192.0.2.1${','.repeat(20)}10.1.2.3`), '10.1.2.3'],
      ['an empty header', xForwardedFor(''), TRUSTED],
      ['an address of five parts', xForwardedFor('192.0.2.1.5'), TRUSTED],
      ['an octal number', xForwardedFor('192.0.2.010'), TRUSTED],
      ['a zone', xForwardedFor('fe80::1%eth0'), TRUSTED],
      ['IPv4 in brackets', xForwardedFor('[192.0.2.1]'), TRUSTED],
      ['a name', xForwardedFor('localhost'), TRUSTED],
      ['more hops than are followed', xForwardedFor(`192.0.2.1${', 10.1.2.3'.repeat(20)}`), '10.1.2.3'],
      ['an empty entry at the beginning of a line', xForwardedFor('192.0.2.1', ',10.1.2.3'), '192.0.2.1'],
      [
        'more hops than are followed, with a header line of each',
        xForwardedFor('192.0.2.1', ...manyHops(20)),
        '10.1.2.3',
      ],
      [
        'as many hops as are followed, with a header line of each',
        xForwardedFor('192.0.2.1', ...manyHops(19)),
        '192.0.2.1',
      ],
      ['no header', {}, TRUSTED],

      ['Forwarded, which is not read', { headers: { Forwarded: 'for=192.0.2.1' } }, TRUSTED],
      [
        'a header of the client beside that of the proxy',
        { headers: { Forwarded: 'for=6.6.6.6', 'X-Forwarded-For': '192.0.2.1' } },
        '192.0.2.1',
      ],
      [
        'headers from a hop that is not trusted',
        { from: UNTRUSTED, headers: { Forwarded: 'for=192.0.2.1', 'X-Forwarded-For': '192.0.2.1' } },
        UNTRUSTED,
      ],
      ['another header', { headers: { 'X-Real-IP': '192.0.2.1', 'X-Client-IP': '192.0.2.1' } }, TRUSTED],
    ])('is in the log for %s', async (_name, sent, expected) => {
      expect(await loggedAddress(sent)).toBe(expected);
    });

    // The response 429 waits for more than a second, so all of them wait at the same time.
    describe('of those who guess', () => {
      const statuses = new Map<string, readonly number[]>();
      const guessFrom = async (name: string, addresses: readonly string[], from = TRUSTED) => {
        const seen: number[] = [];
        for (const address of addresses) {
          const { status } = await attempt(service().port, { from, clientId: name, ...xForwardedFor(address) });
          seen.push(status);
        }
        statuses.set(name, seen);
      };

      const OWN: readonly [string, string, string][] = [
        ['IPv4', '192.0.2.77', '192.0.2.78'],
        ['IPv6', '2001:db8:1:2::1', '2001:db8:1:3::1'],
        ['short IPv6', '2001:db8::1:0:0:5', '2001:db8:1::5'],
      ];
      const SHARED: readonly [string, string, string][] = [
        ['the other addresses of an IPv6 network', '2001:db8:1:2:aaaa::1', '2001:db8:1:2::'],
        ['an IPv4 address that is written as IPv6', '192.0.2.99', '::ffff:192.0.2.99'],
      ];
      beforeAll(async () => {
        await Promise.all([
          ...OWN.map(([name, one, other]) => guessFrom(name, [one, one, one, other])),
          ...SHARED.map(([name, one, other]) => guessFrom(name, [one, other, one, other])),
          guessFrom('from no proxy', ['192.0.2.1', '192.0.2.2', '192.0.2.3'], UNTRUSTED),
        ]);
      });

      it.each(OWN)('has a limit of its own behind one proxy: %s', (name) => {
        expect(statuses.get(name)).toEqual([401, 401, 429, 401]);
      });

      it.each(SHARED)('shares its limit with %s', (name) => {
        expect(statuses.get(name)).toEqual([401, 401, 429, 429]);
      });

      it('cannot be chosen by a caller who is no proxy, to get around the limit', () => {
        expect(statuses.get('from no proxy')).toEqual([401, 401, 429]);
      });
    });
  });

  describe('the address of a client without trusted proxies', () => {
    const service = serviceForSuite({ environment: { CLIENT_FAILURES_PER_MINUTE: '2' } });

    it('is that of the connection, whatever the headers say', async () => {
      const guess = async (address: string) => {
        const headers = { Forwarded: `for=${address}`, 'X-Forwarded-For': address };
        return (await attempt(service().port, { clientId: 'guessed', headers })).status;
      };
      expect([await guess('192.0.2.1'), await guess('192.0.2.2'), await guess('192.0.2.3')]).toEqual([401, 401, 429]);
      const addresses = service()
        .logLines()
        .map((line) => line['remote_address'])
        .filter((address) => address !== undefined);
      expect(new Set(addresses)).toEqual(new Set([TRUSTED]));
    });
  });

  function rawHeadersOf(headers: Readonly<Record<string, readonly string[]>>): string[] {
    return Object.entries(headers).flatMap(([name, lines]) => lines.flatMap((line) => [name, line]));
  }

  describe('clientAddressBehind', () => {
    const addressOf = clientAddressBehind([{ address: '127.0.0.1', prefixBits: 32 }]);
    const from = (remoteAddress: string | undefined, headers: Readonly<Record<string, string[]>> = {}) =>
      addressOf({ socket: { remoteAddress }, rawHeaders: rawHeadersOf(headers) } as IncomingMessage);

    it('knows a trusted proxy whose IPv4 address the system writes as IPv6', () => {
      expect(from('::ffff:127.0.0.1', { 'x-forwarded-for': ['192.0.2.1'] })).toBe('192.0.2.1');
      expect(from('::ffff:192.0.2.2')).toBe('192.0.2.2');
    });

    it.each([undefined, 'fe80::1%eth0'])('trusts no connection from %s', (address) => {
      expect(from(address, { 'x-forwarded-for': ['192.0.2.1'] })).toBe(address ?? 'disconnected');
    });

    it('reads the header in linear time, however it is written', () => {
      // In quadratic time, this would not end before the test's deadline.
      for (const filler of [' ', ',', '"', '[1.', '1.']) {
        const line = `192.0.2.1,${filler.repeat(4_000 / filler.length)}!`;
        for (let time = 0; time < 1_000; time += 1) from('127.0.0.1', { 'x-forwarded-for': [line] });
        expect(from('127.0.0.1', { 'x-forwarded-for': [line] })).toBe('127.0.0.1');
      }
    });

    /** Reads the whole list, as RFC 9110 section 5.3 has it. */
    function fullReading(lines: readonly string[]): string {
      let client = '127.0.0.1';
      for (const entry of lines.join(',').split(',').toReversed()) {
        if (entry.trim() === '') continue;
        if (!/^[\d.]+$/.test(entry.trim())) break;
        client = entry.trim();
        if (client !== '127.0.0.1') break;
      }
      return client;
    }

    const entry = fc.constantFrom('127.0.0.1', '127.0.0.1 ', ' 127.0.0.1', '192.0.2.1', '192.0.2.2', 'unknown', '');
    const line = fc.array(entry, { minLength: 1, maxLength: 5 }).map((entries) => entries.join(','));
    const upTo20Entries = fc.array(line, { minLength: 1, maxLength: 4 });
    // Parsed as an entry, each of these would end the search elsewhere.
    const garbage = fc.string().map((text) => `203.0.113.1,${text},203.0.113.2,`);

    it('reads a list of at most 20 entries as a whole', () => {
      fc.assert(
        fc.property(upTo20Entries, (lines) => {
          expect(from('127.0.0.1', { 'x-forwarded-for': [...lines] })).toBe(fullReading(lines));
        }),
      );
    });

    it('never reads what stands before 20 trusted hops, in whichever lines', () => {
      fc.assert(
        fc.property(garbage, fc.integer({ min: 0, max: 19 }), (head, split) => {
          const hops = Array<string>(20).fill('127.0.0.1');
          const lines = split === 0 ? [head + hops] : [head + hops.slice(0, split), hops.slice(split).join()];
          expect(from('127.0.0.1', { 'x-forwarded-for': lines })).toBe('127.0.0.1');
        }),
      );
    });

    it.each([
      ['of 8 KB', ['::1,'.repeat(1_900) + '127.0.0.1,'.repeat(19)]],
      ['in 100 lines', [...Array<string>(80).fill('::1'), ...Array<string>(20).fill('127.0.0.1')]],
    ])('parses at most 20 entries of a header %s', (_what, lines) => {
      const spies = [
        jest.spyOn(RegExp.prototype, 'exec'),
        ...(['split', 'trim', 'matchAll'] as const).map((method) => jest.spyOn(String.prototype, method)),
      ];
      let work: readonly (readonly unknown[])[];
      try {
        from('127.0.0.1', { 'x-forwarded-for': lines });
        work = spies.flatMap(({ mock }) =>
          mock.contexts.map((context, call) => [context, ...(mock.calls[call] ?? [])]),
        );
      } finally {
        for (const spy of spies) spy.mockRestore();
      }
      const examined = work.flat().filter((text) => typeof text === 'string');
      expect(work.length).toBeLessThanOrEqual(100);
      expect(examined.join('').length).toBeLessThanOrEqual(2_000);
    });
  });
});

describe('requireBearer', () => {
  // RFC 9110 section 5.6.2 and RFC 6750 section 2.1, written again and in another way than in the code.
  const TOKEN_CHARACTERS = new Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  const B64_CHARACTERS = new Set('-._~+/0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');
  const consistsOf = (text: string, characters: ReadonlySet<string>) => [...text].every((one) => characters.has(one));

  /** What RFC 6750 says of the fields of a request. */
  function expectedOf(fields: readonly string[]): { readonly token: string } | number {
    if (fields.length === 0) return 401;
    if (fields.length > 1) return 400;
    const [field = ''] = fields;
    // An empty one counts as absent.
    if (field === '') return 401;
    const space = field.indexOf(' ');
    const scheme = space === -1 ? field : field.slice(0, space);
    const credentials = space === -1 ? '' : field.slice(space).replace(/^ +/, '');
    const isScheme = scheme !== '' && scheme.length <= 64 && consistsOf(scheme, TOKEN_CHARACTERS);
    if (!isScheme || (space !== -1 && (credentials === '' || /^\s/.test(credentials)))) return 400;
    if (/[\n\r\u2028\u2029]/.test(credentials)) return 400;
    if (scheme.toLowerCase() !== 'bearer') return 401;
    const unpadded = credentials.replace(/=+$/, '');
    return unpadded !== '' && consistsOf(unpadded, B64_CHARACTERS) ? { token: credentials } : 400;
  }

  /** Runs the reader on these Authorization fields: the status of its refusal, or the token that it passes on. */
  async function read(fields: readonly string[]): Promise<{ readonly token: string } | number> {
    const rawHeaders = ['Host', 'x', ...fields.flatMap((field) => ['Authorization', field])];
    const head = readRequestHead({
      rawHeaders,
      headers: {},
      httpVersion: '1.1',
      url: '/',
    } as unknown as IncomingMessage);
    if (!head.ok) throw new Error(head.problem);
    let presented: string | undefined;
    const authorize = {
      async execute({ token }: { readonly token: string }) {
        presented = token;
        return refused('token_malformed');
      },
    } as unknown as AuthorizeRequest;
    const sent: Record<string, unknown> = {};
    const ctx = { state: { head: head.value }, status: 0, body: {}, set: (more: object) => Object.assign(sent, more) };
    expect(await requireBearer(ctx as unknown as Exchange, authorize)).toBe(false);
    expect(String(sent['WWW-Authenticate'])).toMatch(/^Bearer( error="(invalid_request|invalid_token)")?$/);
    return presented === undefined ? ctx.status : { token: presented };
  }

  const credentials = fc.string({
    unit: fc.constantFrom('a', 'Z', '0', '-', '.', '=', '+', '/', ' ', '\t', ',', '"', 'é'),
    maxLength: 12,
  });
  const scheme = fc.constantFrom(
    'Bearer',
    'bearer',
    'BEARER',
    'Bearer:',
    'BearerX',
    'Basic',
    '',
    '(x)',
    'S'.repeat(65),
  );
  const field = fc.oneof(
    fc.tuple(scheme, fc.constantFrom(' ', '  ', '\t', ''), credentials).map((parts) => parts.join('')),
    anyText({ maxLength: 30 }),
  );

  it('reads every Authorization field as RFC 6750 says, never throws, and passes on no other token', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(field, { maxLength: 2 }), async (fields) => {
        expect(await read(fields)).toEqual(expectedOf(fields));
      }),
      { numRuns: 1_000 },
    );
  });

  it('passes on every token of RFC 6750 unchanged', async () => {
    const b64 = fc.tuple(
      fc.string({ unit: fc.constantFrom(...B64_CHARACTERS), minLength: 1, maxLength: 200 }),
      fc.constantFrom('', '=', '=='),
    );
    await fc.assert(
      fc.asyncProperty(b64, async (parts) => {
        const token = parts.join('');
        expect(await read([`Bearer ${token}`])).toEqual({ token });
      }),
    );
  });
});
