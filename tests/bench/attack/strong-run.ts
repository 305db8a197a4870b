import { setTimeout as delay } from 'node:timers/promises';
import { startBenchDatabaseServer } from '../bench-database.ts';
import { type Store, startInMemory, startOnPostgres } from '../candidates.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from '../registrations.ts';
import { say } from '../report.ts';
import { runFlood, runLegitimateClients } from './attack-drivers.ts';
import { requestFor } from './attack-requests.ts';
import type { FloodName } from './floods.ts';
import { measureHiddenGuess, measureLockOut } from './lock-out.ts';
import type { StrongResult } from './strong-report.ts';

const KNOWN_CLIENTS = 20;
const NEWCOMERS = 10;
const FLOODS_OF_GUESSES: readonly FloodName[] = ['guesses, 500 x 15', 'guesses, 2,000 x 15'];

/** Seconds from the start of a flood until the first newcomer, and those that a flood goes on after the clients. */
const LEAD_SECONDS = 2;
const SURPLUS_SECONDS = 3;

/** Retries follow `Retry-After`, up to this. */
const RETRY_MS_MAX = 2_000;

/** Each attack against a service of its own, with its registrations in this store. */
export async function measureStrongAttacks(
  store: Store,
  { seconds, rate }: { readonly seconds: number; readonly rate: number },
  opened: AsyncDisposableStack,
): Promise<StrongResult> {
  const stored = await hashedSecret(RECOMMENDED_COST);
  const clients = [...registrations('client', KNOWN_CLIENTS, stored), ...registrations('new', NEWCOMERS, stored)];

  const start = async (running: AsyncDisposableStack) => {
    if (store === 'memory') return startInMemory(store, clients, running);
    const database = await (await startBenchDatabaseServer(running)).create();
    return startOnPostgres(store, database, clients, running);
  };

  /** Starts a service, runs the attack and stops the service. */
  async function against<Outcome>(name: string, attack: (tokenUrl: string, port: number) => Promise<Outcome>) {
    say(`strong, ${store}: ${name} …`);
    await using running = new AsyncDisposableStack();
    opened.defer(() => running.disposeAsync());
    const [tokenUrl = ''] = (await start(running)).tokenUrls;
    // Awaited here, since the service stops when this function returns.
    return await attack(tokenUrl, Number(new URL(tokenUrl).port));
  }

  const floods: StrongResult['floods'][number][] = [];
  for (const flood of FLOODS_OF_GUESSES) {
    floods.push(
      await against(flood, async (tokenUrl, port) => {
        const job = {
          tokenUrl,
          secret: SECRET,
          clientIds: clients.slice(0, KNOWN_CLIENTS).map(({ client_id }) => client_id),
          ratePerSecond: rate,
          connections: 16,
          warmUpSeconds: Math.ceil((KNOWN_CLIENTS * 16) / rate) + 1 + LEAD_SECONDS,
          seconds,
          newClientIds: clients.slice(KNOWN_CLIENTS).map(({ client_id }) => client_id),
          newClientEverySeconds: seconds / NEWCOMERS,
          retryMsMax: RETRY_MS_MAX,
        };
        // The flood begins when the clients have warmed up, less its lead.
        const flooding = delay((job.warmUpSeconds - LEAD_SECONDS) * 1_000).then(() =>
          runFlood({ port, flood, seconds: LEAD_SECONDS + seconds + SURPLUS_SECONDS }),
        );
        const [result] = await runLegitimateClients(job, async () => {});
        return { flood, clients: result, answers: await flooding };
      }),
    );
  }
  const job = (port: number) => ({ port, clientId: 'new-1', ownRequest: requestFor('new-1', SECRET) });
  const lockOutMs = await against('lock-out', (_, port) => measureLockOut(job(port)));
  const hiddenGuess = await against('hidden guess', (_, port) => measureHiddenGuess(job(port)));
  return { floods, lockOutMs, hiddenGuess };
}
