import { InMemoryRevocations } from '../../../adapters/memory/token-revocation/in-memory-revocations.ts';
import { describeRevocations } from '../../contracts/revocations.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

describeRevocations('InMemoryRevocations', async (limits) => {
  const clock = new FixedClock();
  const revocations = new InMemoryRevocations(clock, limits);
  return { revocations, other: revocations, now: () => clock.now(), close: async () => {} };
});
