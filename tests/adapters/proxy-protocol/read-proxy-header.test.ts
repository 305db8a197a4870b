import { SocketAddress } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readProxyHeader } from '../../../adapters/proxy-protocol/read-proxy-header.ts';
import { proxyV1, proxyV2, proxyV2Of } from '../../support/proxy-header.ts';

const TWELVE = Buffer.from([192, 0, 2, 7, 192, 0, 2, 1, 1, 1, 1, 1]);

const GOOD: readonly (readonly [string, Buffer, string | undefined])[] = [
  ['version 1 with IPv4', proxyV1('198.51.100.7'), '198.51.100.7'],
  ['version 1 with IPv6', proxyV1('2001:DB8:0:0::7'), '2001:db8::7'],
  ['version 1 with IPv4 as IPv6', proxyV1('::FFFF:198.51.100.7'), '::ffff:198.51.100.7'],
  [
    'version 1 of the greatest length',
    proxyV1('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'),
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ],
  ['version 1 UNKNOWN', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
  ['version 1 UNKNOWN with anything', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(91)}\r\n`), undefined],
  ['version 2 with IPv4', proxyV2('198.51.100.7'), '198.51.100.7'],
  ['version 2 with IPv6', proxyV2('2001:db8::7'), '2001:db8::7'],
  ['version 2 with TLVs up to the limit', proxyV2('198.51.100.7', 508), '198.51.100.7'],
  ['version 2 LOCAL', proxyV2Of(0x20, 0, []), undefined],
  ['version 2 LOCAL with addresses', proxyV2Of(0x20, 0x11, [TWELVE]), undefined],
  ['version 2 of an unspecified family', proxyV2Of(0x21, 0, [TWELVE]), undefined],
];

const BAD: readonly (readonly [string, Buffer])[] = [
  ['a request', Buffer.from('POST /oauth2/token HTTP/1.1\r\n')],
  ['PROXY as a method', Buffer.from('PROXY / HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['lower case', Buffer.from('proxy TCP4 192.0.2.7 192.0.2.1 1 2\r\n')],
  ['version 1 without addresses', Buffer.from('PROXY TCP4\r\n')],
  ['version 1 with one address', Buffer.from('PROXY TCP4 192.0.2.7 1 2\r\n')],
  ['version 1 with the other family', Buffer.from('PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n')],
  ['version 1 with IPv4 as TCP6', Buffer.from('PROXY TCP6 192.0.2.7 192.0.2.1 1 2\r\n')],
  ['version 1 with a zone', Buffer.from('PROXY TCP6 fe80::1%lo ::1 1 2\r\n')],
  ['version 1 with a name', Buffer.from('PROXY TCP4 localhost 192.0.2.1 1 2\r\n')],
  ['version 1 with an octal number', Buffer.from('PROXY TCP4 010.0.0.1 192.0.2.1 1 2\r\n')],
  ['version 1 with a port of 65536', Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 1 65536\r\n')],
  ['version 1 with a port of 01', Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 01 2\r\n')],
  ['version 1 with two spaces', Buffer.from('PROXY TCP4  192.0.2.7 192.0.2.1 1 2\r\n')],
  ['version 1 with more behind', Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 1 2 3\r\n')],
  ['version 1 with UDP', Buffer.from('PROXY UDP4 192.0.2.7 192.0.2.1 1 2\r\n')],
  ['version 1 with a name that every object has', Buffer.from('PROXY constructor 192.0.2.7 192.0.2.1 1 2\r\n')],
  ['version 1 that ends in LF alone', Buffer.from(`PROXY TCP4 192.0.2.7 192.0.2.1 1 2\n${'x'.repeat(100)}`)],
  ['version 1 that does not end', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(200)}`)],
  ['version 1 of a byte too many', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(92)}\r\n`)],
  ['version 2 that is too long', proxyV2('198.51.100.7', 509)],
  ['version 2 that is too short for its addresses', proxyV2Of(0x21, 0x11, [TWELVE.subarray(1)])],
  ['version 2 that announces 65,535 bytes', proxyV2Of(0x21, 0x11, [TWELVE], 65_535)],
  ['version 2 of UDP', proxyV2Of(0x21, 0x12, [TWELVE])],
  ['version 2 of a Unix socket', proxyV2Of(0x21, 0x31, [Buffer.alloc(216)])],
  ['version 2 with another command', proxyV2Of(0x22, 0x11, [TWELVE])],
  ['version 3', proxyV2Of(0x31, 0x11, [TWELVE])],
  ['version 1 in the signature of version 2', proxyV2Of(0x11, 0x11, [TWELVE])],
];

describe('a PROXY header', () => {
  it.each(GOOD)('%s is read', (_name, header, address) => {
    expect(readProxyHeader(header)).toEqual({ address, bytes: header.length });
  });

  it.each(BAD)('%s is refused', (_name, header) => {
    expect(readProxyHeader(header)).toBe('malformed');
  });

  it('is read the same wherever it is split, and what follows is not part of it', () => {
    for (const [, header, address] of GOOD) {
      for (let end = 1; end < header.length; end += 1)
        expect(readProxyHeader(header.subarray(0, end))).toBe('incomplete');
      expect(readProxyHeader(Buffer.concat([header, header]))).toEqual({ address, bytes: header.length });
    }
  });

  it('has the address that was written, in both versions', () => {
    const addresses = fc.oneof(
      fc.ipV4(),
      fc.ipV6().filter((address) => !new SocketAddress({ address, family: 'ipv6' }).address.includes('.')),
    );
    fc.assert(
      fc.property(addresses, fc.integer({ min: 0, max: 484 }), fc.uint8Array(), (address, tlvs, rest) => {
        const [one, two] = [proxyV1(address), proxyV2(address, tlvs)];
        const read = [one, two].map((header) => readProxyHeader(Buffer.concat([header, rest])));
        expect(read[0]).toMatchObject({ bytes: one.length });
        expect(read[1]).toEqual({ ...(read[0] as object), bytes: two.length });
      }),
    );
  });

  it('never throws on garbage, and waits for no more than the longest header', () => {
    const begin = fc.constantFrom(
      Buffer.alloc(0),
      Buffer.from('PROXY '),
      Buffer.from('PROXY TCP4 '),
      proxyV2Of(0x21, 0x11, []).subarray(0, 12),
    );
    fc.assert(
      fc.property(begin, fc.uint8Array({ minLength: 1, maxLength: 700 }), (first, rest) => {
        const received = Buffer.concat([first, rest]);
        const read = readProxyHeader(received);
        if (read === 'incomplete') expect(received.length).toBeLessThan(536);
        if (typeof read === 'object') expect(read.bytes).toBeLessThanOrEqual(received.length);
      }),
      { numRuns: 2_000 },
    );
  });
});
