import { expect, it } from '@jest/globals';
import { parseOpensslSpeed } from './rsa-limit.ts';

const OUTPUT = 'Forked child 0\nGot: +F2:2:2048:1702.000000:30424.000000 from 0\nversion: 3.0.19\n';

it.each([
  ['OpenSSL 3.0', 'rsa 2048 bits 0.000292s 0.000017s   3425.0  60383.4\n'],
  [
    'OpenSSL 3.2 and later, which also measures encryption',
    'rsa  2048 bits 0.000292s 0.000017s 0.000019s 0.000297s   3425.0  60383.4  52631.6   3367.0\n',
  ],
])('reads the signatures per second from the output of %s', (_version, row) => {
  expect(parseOpensslSpeed(`${OUTPUT}                  sign    verify    sign/s verify/s\n${row}`)).toBe(3425);
});

it('repeats the output of openssl if it holds no table', () => {
  expect(() => parseOpensslSpeed('speed: Unknown algorithm rsa2048')).toThrow('Unknown algorithm');
});
