import { expect, it } from '@jest/globals';
import { startInMemory } from '../candidates.ts';
import { hashedSecret, registrations, SECRET } from '../registrations.ts';
import { legitimateFigures, runLegitimateClients } from './programs.ts';

it('legitimate clients of the real service all get their tokens, and so does a new client', async () => {
  await using opened = new AsyncDisposableStack();
  const clients = registrations('client', 3, await hashedSecret(4));
  const { tokenUrls, tree } = await startInMemory('memory', clients, opened);

  const cpuMs = await tree.cpuMs();
  const [result] = await runLegitimateClients(
    {
      tokenUrl: tokenUrls[0] ?? '',
      secret: SECRET,
      clientIds: ['client-1', 'client-2'],
      ratePerSecond: 50,
      connections: 4,
      warmUpSeconds: 0.2,
      seconds: 1,
      newClientIds: ['client-3'],
      newClientEverySeconds: 1,
      retryMsMax: 250,
    },
    async () => {},
  );
  expect(legitimateFigures(result)).toMatchObject({ requests: 50, success: 100 });
  expect(result.newClientsMs).toEqual([expect.any(Number)]);
  // Without /proc there is nothing to read.
  if (Number.isNaN(cpuMs)) return;
  expect(await tree.cpuMs()).toBeGreaterThan(cpuMs);
  expect(await tree.memoryMb()).toBeGreaterThan(20);
});
