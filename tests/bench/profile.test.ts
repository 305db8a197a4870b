import { expect, it } from '@jest/globals';
import { type CpuProfile, timeByPart } from './profile.ts';

const FRAMES = [
  ['(idle)', ''],
  ['signOneShot', 'node:internal/crypto/sig'],
  ['Hmac', 'node:internal/crypto/hash'],
  ['writeUtf8String', ''],
  ['emit', 'node:events'],
  ['respond', 'file:///app/node_modules/koa/lib/application.js'],
  ['inc', 'file:///app/node_modules/@prometheus-io/client/lib/counter.js'],
  ['execute', 'file:///app/application/issue-token.ts'],
  ['(garbage collector)', ''],
] as const;

/** A sample of each frame, ten microseconds apart. */
const PROFILE: CpuProfile = {
  nodes: FRAMES.map(([functionName, url], id) => ({ id, callFrame: { functionName, url } })),
  samples: FRAMES.map((_, id) => id),
  timeDeltas: FRAMES.map(() => 10),
};

it('assigns each frame of a profile to its package or another part, and idle time to none', () => {
  expect(Object.fromEntries(timeByPart(PROFILE, 1_000, 0))).toEqual({
    'RSA signature': 10,
    'other crypto: digests, ids': 10,
    'system calls and native code': 10,
    'Node.js: HTTP, streams, event loop': 10,
    koa: 10,
    '@prometheus-io/client': 10,
    'this service': 10,
    'garbage collection': 10,
  });
});

it('counts the time of a profile in the window only', () => {
  expect([...timeByPart(PROFILE, 10, 0).keys()]).toEqual(['this service', 'garbage collection']);
});
