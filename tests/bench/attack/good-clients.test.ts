import { expect, it } from '@jest/globals';
import { hashedSecret, registrations, SECRET, writeClientsFile } from '../servers/registrations.ts';
import { startServiceCandidate } from '../servers/service-candidate.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { runGoodClients } from './attack.ts';
import { goodClientFigures } from './good-client-figures.ts';

it('good clients of the real service, as processes, all get their tokens, one that was not seen before too', async () => {
  await using opened = new AsyncDisposableStack();
  const clients = registrations('client', 3, await hashedSecret(4));
  const file = await writeClientsFile(await temporaryFolder(opened), 'clients.json', clients);
  const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: file };
  const { tokenUrl, tree } = await startServiceCandidate('memory', environment, opened);

  const cpuMs = await tree.cpuMs();
  const [result] = await runGoodClients(
    {
      tokenUrl,
      secret: SECRET,
      clientIds: ['client-1', 'client-2'],
      ratePerSecond: 50,
      connections: 4,
      warmUpSeconds: 0.2,
      seconds: 1,
      unseenClientIds: ['client-3'],
      unseenEverySeconds: 1,
    },
    async () => {},
  );
  expect(goodClientFigures(result)).toMatchObject({ requests: 50, success: 100 });
  expect(result.unseenMs).toEqual([expect.any(Number)]);
  // Where there is no /proc, there is nothing to see.
  if (cpuMs === undefined) return;
  expect(await tree.cpuMs()).toBeGreaterThan(cpuMs);
  expect(await tree.memoryMb()).toBeGreaterThan(20);
});
