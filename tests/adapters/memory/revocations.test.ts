import { expect, it } from '@jest/globals';
import { InMemoryRevocations } from '../../../adapters/memory/token-revocation/in-memory-revocations.ts';
import { describeRevocations } from '../../contracts/revocations.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

describeRevocations('InMemoryRevocations', async (limits) => {
  const clock = new FixedClock();
  const revocations = new InMemoryRevocations(clock, limits);
  return { revocations, other: revocations, now: () => clock.now(), close: async () => {} };
});

it('InMemoryRevocations keeps 100,000 tokens by default, and all of a client for longer than the longest of them lives', async () => {
  const clock = new FixedClock();
  const revocations = new InMemoryRevocations(clock);
  expect(revocations.load).toEqual({ revoked: 0, max: 100_000 });
  const issuedAt = clock.now();
  await revocations.revokeAll(['a-client']);
  clock.advance(86_400);
  const { issuedUntil } = await revocations.find({ clientId: 'a-client', tokenId: 'a-token' });
  expect(issuedUntil).toBeGreaterThanOrEqual(issuedAt);
});
