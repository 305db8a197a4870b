import { expect, it } from '@jest/globals';
import { startInMemory } from '../candidates.ts';
import { hashedSecret, registrations } from '../registrations.ts';
import { phaseFigures } from './timeline.ts';
import { measureTimeline } from './timeline-run.ts';

it('the attackers join the clients of the real service in the second phase', async () => {
  await using opened = new AsyncDisposableStack();
  const clients = registrations('client', 20, await hashedSecret(4));
  const { tokenUrls } = await startInMemory('memory', clients, opened);

  const result = await measureTimeline(tokenUrls[0] ?? '', { seconds: 1, rate: 320, lorises: 2 });
  const requests = phaseFigures(result).map(({ latenciesMs, failures }) => latenciesMs.length + failures);
  expect(requests).toEqual([320, 320, 320]);
  expect(result.attackerAnswers[0]).toBe(0);
  expect(Math.max(...result.attackerAnswers)).toBeGreaterThan(0);
});
