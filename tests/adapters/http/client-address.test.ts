import { type IncomingMessage, request } from 'node:http';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { clientAddressBehind } from '../../../adapters/http/parsing/client-address.ts';
import { until } from '../../support/until.ts';
import { serviceForSuite } from './service-for-suite.ts';

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
  const options = { host: '127.0.0.1', port, path: '/oauth2/token', method: 'POST', localAddress: from, agent: false };
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
  const forwarded = (...values: string[]): Attempt => ({ headers: { Forwarded: values } });

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
    ['an empty entry', xForwardedFor('192.0.2.1,, 10.1.2.3'), '10.1.2.3'],
    ['an empty header', xForwardedFor(''), TRUSTED],
    ['an address of five parts', xForwardedFor('192.0.2.1.5'), TRUSTED],
    ['an octal number', xForwardedFor('192.0.2.010'), TRUSTED],
    ['a zone', xForwardedFor('fe80::1%eth0'), TRUSTED],
    ['IPv4 in brackets', xForwardedFor('[192.0.2.1]'), TRUSTED],
    ['a name', xForwardedFor('localhost'), TRUSTED],
    ['more hops than are followed', xForwardedFor(`192.0.2.1${', 10.1.2.3'.repeat(20)}`), '10.1.2.3'],
    ['an empty entry at the beginning of a line', xForwardedFor('192.0.2.1', ',10.1.2.3'), '10.1.2.3'],
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

    ['Forwarded', forwarded('for=192.0.2.1'), '192.0.2.1'],
    ['Forwarded with all members', forwarded('By=_gw;FOR=192.0.2.1;host=a.test;proto=https'), '192.0.2.1'],
    ['Forwarded with two proxies', forwarded('for=192.0.2.1, for=10.1.2.3;proto=http'), '192.0.2.1'],
    ['Forwarded with a header line of each proxy', forwarded('for=192.0.2.1', 'for="10.1.2.3:80"'), '192.0.2.1'],
    ['Forwarded with an IPv6 address', forwarded('for="[2001:DB8::17]"'), '2001:db8::17'],
    ['Forwarded with an IPv6 address and a port', forwarded('for="[2001:db8::17]:4711"'), '2001:db8::17'],
    ['Forwarded with an obfuscated port', forwarded('for="192.0.2.1:_hidden"'), '192.0.2.1'],
    ['Forwarded with escapes', forwarded('for="192\\.0.2.1"'), '192.0.2.1'],
    ['Forwarded, unknown', forwarded('for=192.0.2.1, for=unknown, for=10.1.2.3'), '10.1.2.3'],
    ['Forwarded, obfuscated', forwarded('for=_hidden'), TRUSTED],
    ['Forwarded without for', forwarded('for=192.0.2.1, proto=https'), TRUSTED],
    ['Forwarded with for twice', forwarded('for=192.0.2.1;for=192.0.2.2'), TRUSTED],
    ['Forwarded with IPv6 outside of quotes', forwarded('for=[2001:db8::17]'), TRUSTED],
    ['Forwarded with a quote that a client left open', forwarded('for=6.6.6.6;x=", for="[2001:db8::17]"'), TRUSTED],
    ['Forwarded with a quote left open on a line of its own', forwarded('for="', 'for=192.0.2.1'), '192.0.2.1'],
    ['Forwarded with an address inside of another value', forwarded('for=192.0.2.1;host=", for=6.6.6.6"'), '192.0.2.1'],
    ['Forwarded that is not well-formed', forwarded('192.0.2.1'), TRUSTED],
    [
      'Forwarded with the longest line',
      forwarded(`x=${'y'.repeat(4_096 - 'x=, for=192.0.2.1'.length)}, for=192.0.2.1`),
      '192.0.2.1',
    ],
    ['Forwarded with a line that is too long', forwarded(`x=${'y'.repeat(4_096)}, for=192.0.2.1`), TRUSTED],
    [
      'Forwarded with more hops than are followed',
      forwarded(`for=192.0.2.1${', for=10.1.2.3'.repeat(20)}`),
      '10.1.2.3',
    ],

    [
      'both headers, which agree',
      { headers: { Forwarded: 'for=192.0.2.1', 'X-Forwarded-For': '192.0.2.1' } },
      '192.0.2.1',
    ],
    [
      'a header of the client beside that of the proxy',
      { headers: { Forwarded: 'for=6.6.6.6', 'X-Forwarded-For': '192.0.2.1' } },
      TRUSTED,
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

  // The answer 429 waits for more than a second, so all of them wait at the same time.
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
    expect(from('::ffff:127.0.0.1', { forwarded: ['for=192.0.2.1'] })).toBe('192.0.2.1');
    expect(from('::ffff:192.0.2.2')).toBe('192.0.2.2');
  });

  it.each([undefined, 'fe80::1%eth0'])('trusts no connection from %s', (address) => {
    expect(from(address, { forwarded: ['for=192.0.2.1'] })).toBe(address ?? 'disconnected');
  });

  it.each(['Forwarded', 'X-Forwarded-For'])('reads %s in linear time, however it is written', (name) => {
    // In quadratic time, this would not end before the test's deadline.
    for (const filler of [' ', 'a=', '"\\', ',', '"', '[1.', 'for=']) {
      const line = `for=192.0.2.1,${filler.repeat(4_000 / filler.length)}!`;
      for (let time = 0; time < 1_000; time += 1) from('127.0.0.1', { [name.toLowerCase()]: [line] });
      expect(from('127.0.0.1', { [name.toLowerCase()]: [line] })).toBe('127.0.0.1');
    }
  });

  /** Reads the whole list, as RFC 9110 section 5.3 has it. */
  function fullReading(lines: readonly string[]): string {
    let client = '127.0.0.1';
    for (const entry of lines.join(',').split(',').toReversed()) {
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
    ['X-Forwarded-For', ['::1,'.repeat(1_900) + '127.0.0.1,'.repeat(19)]],
    ['X-Forwarded-For', [...Array<string>(80).fill('::1'), ...Array<string>(20).fill('127.0.0.1')]],
    ['Forwarded', ['for="[::1]",'.repeat(600)]],
    ['Forwarded', [...Array<string>(80).fill('for="[::1]"'), ...Array<string>(20).fill('for=127.0.0.1')]],
  ])('parses at most 20 entries of a %s of 8 KB, or in 100 lines', (name, lines) => {
    const spies = [
      jest.spyOn(RegExp.prototype, 'exec'),
      ...(['split', 'trim', 'matchAll'] as const).map((method) => jest.spyOn(String.prototype, method)),
    ];
    let work: readonly (readonly unknown[])[];
    try {
      from('127.0.0.1', { [name.toLowerCase()]: lines });
      work = spies.flatMap(({ mock }) => mock.contexts.map((context, call) => [context, ...(mock.calls[call] ?? [])]));
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
    const examined = work.flat().filter((text) => typeof text === 'string');
    expect(work.length).toBeLessThanOrEqual(100);
    expect(examined.join('').length).toBeLessThanOrEqual(2_000);
  });
});
