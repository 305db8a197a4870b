import { describe, expect, it } from '@jest/globals';
import { type CpuProfile, timeByPart } from './cpu-profile.ts';

const FRAMES = [
  ['(idle)', ''],
  ['signOneShot', 'node:internal/crypto/sig'],
  ['Hmac', 'node:internal/crypto/hash'],
  ['writeUtf8String', ''],
  ['emit', 'node:events'],
  ['respond', 'file:///app/node_modules/koa/lib/application.js'],
  ['asJson', 'file:///app/node_modules/pino/lib/tools.js'],
  ['execute', 'file:///app/application/issue-token.ts'],
  ['(garbage collector)', ''],
  ['query', 'file:///app/node_modules/pg/lib/client.js'],
  ['inc', 'file:///app/node_modules/@prometheus-io/client/lib/counter.js'],
] as const;

/** A sample of each frame, ten microseconds apart. */
const PROFILE: CpuProfile = {
  nodes: FRAMES.map(([functionName, url], id) => ({ id, callFrame: { functionName, url } })),
  samples: FRAMES.map((_, id) => id),
  timeDeltas: FRAMES.map(() => 10),
};

describe('timeByPart', () => {
  it('assigns each frame to a part, and idle time to none', () => {
    expect(Object.fromEntries(timeByPart(PROFILE, 1_000, 0))).toEqual({
      'RSA signature': 10,
      'other crypto: digests, ids': 10,
      'system calls and native code': 10,
      'Node.js: HTTP, streams, event loop': 10,
      'Koa, router': 10,
      log: 10,
      'this service': 10,
      'garbage collection': 10,
      'database driver': 10,
      metrics: 10,
    });
  });

  it('counts the time in the window only', () => {
    expect([...timeByPart(PROFILE, 10, 20).keys()]).toEqual(['this service', 'garbage collection']);
  });
});
