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

it('InMemoryRevocations forgets tokens of all clients that nobody accepts any more before it revokes others', async () => {
  const clock = new FixedClock();
  const revocations = new InMemoryRevocations(clock, { perClient: 10, total: 2 });
  const clients = ['a', 'b', 'c', 'd'];
  for (const clientId of clients) {
    await revocations.revoke({ clientId, tokenId: 'a-token', keptUntil: clock.now() + 10 });
    clock.advance(9);
  }
  expect(revocations.load.revoked).toBeLessThanOrEqual(2);
  for (const clientId of clients) {
    expect((await revocations.find({ clientId, tokenId: 'a-token' })).issuedUntil).toBeUndefined();
  }
});
