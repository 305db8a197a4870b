import { expect, it } from '@jest/globals';
import { parseOpensslSpeed } from './rsa-limit.ts';

const OUTPUT = `Forked child 0
Forked child 1
Got: +F2:2:2048:1702.000000:30424.000000 from 0
Got: +F2:2:2048:1723.000000:29959.405941 from 1
version: 3.0.19
built on: Fri Apr  3 12:29:32 2026 UTC
options: bn(64,64)
CPUINFO: OPENSSL_ia32cap=0xfffa32034f8bffff:0x1a415f46f1bf2ffb
`;

it.each([
  [
    'OpenSSL 3.0',
    `                  sign    verify    sign/s verify/s
rsa 2048 bits 0.000292s 0.000017s   3425.0  60383.4
`,
    3425,
  ],
  [
    'OpenSSL 3.2 and later, which also measures encryption',
    `                   sign    verify    encrypt   decrypt   sign/s verify/s  encr./s  decr./s
rsa  2048 bits 0.000292s 0.000017s 0.000019s 0.000297s   3425.0  60383.4  52631.6   3367.0
`,
    3425,
  ],
])('reads the signatures per second from the output of %s', (_version, table, expected) => {
  expect(parseOpensslSpeed(`${OUTPUT}${table}`)).toBe(expected);
});

it('repeats the output of openssl if it holds no table', () => {
  expect(() => parseOpensslSpeed('speed: Unknown algorithm rsa2048')).toThrow('Unknown algorithm');
});
