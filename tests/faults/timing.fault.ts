import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { BcryptSecretVerifier } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { COST, casesToldApart, ranksOf, timedService, Z_MAX } from './refusal-times.ts';

/** A busy machine is noisier, and slower: twice as many there would tell little more. */
const SAMPLES = { quiet: 300, busy: 150 };

// Not in the suite, whose other tests would wait for the cores.
describe.each(['quiet', 'busy'] as const)('the time of a refusal on a %s machine', (machine) => {
  const service = timedService();
  let load: readonly ChildProcess[] = [];
  beforeAll(() => {
    if (machine === 'quiet') return;
    // One process on each core that signs without a pause.
    const script =
      "const { generateKeyPairSync, sign } = require('node:crypto');" +
      "const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });" +
      "process.on('disconnect', () => process.exit()); setInterval(() => {" +
      "for (let count = 0; count < 50; count += 1) sign('sha256', Buffer.alloc(64), privateKey); }, 0);";
    load = Array.from({ length: availableParallelism() }, () =>
      spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
    );
  });
  afterAll(() => {
    for (const process of load) process.kill('SIGKILL');
  });

  it('tells the cases of invalid_client apart from nothing', async () => {
    expect(await casesToldApart(service(), SAMPLES[machine])).toEqual([]);
  }, 300_000);
});

describe('the time of a refusal, with a planted difference', () => {
  const verifier = new BcryptSecretVerifier({ cost: COST, costMax: COST, onCostFound: () => {} });
  const service = timedService({
    cost: COST,
    async verify(presented, stored, isRegistered) {
      if (!isRegistered) await bcrypt.hash('another-secret', COST);
      return verifier.verify(presented, stored, isRegistered);
    },
  });

  it('tells an unknown client whose refusal takes one verification more', async () => {
    const ranks = await ranksOf(service(), SAMPLES.busy, ['wrong secret', 'unknown client']);
    expect(ranks.get('unknown client')).toBeGreaterThan(Z_MAX);
  });
});
