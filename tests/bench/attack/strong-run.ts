import { setTimeout as delay } from 'node:timers/promises';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { startBenchDatabaseServer } from '../bench-database.ts';
import { type Store, startInMemory, startOnPostgres } from '../candidates.ts';
import { hashedSecret, RECOMMENDED_COST, type Registration, registrations, SECRET } from '../registrations.ts';
import { say } from '../report.ts';
import { runFlood, runLegitimateClients } from './attack-drivers.ts';
import { requestFor } from './attack-requests.ts';
import { AttackedMethods } from './attacked-methods.ts';
import type { FloodName } from './floods.ts';
import { measureHiddenGuess, measureLockOut } from './lock-out.ts';
import type { FloodedClients, StrongResult } from './strong-report.ts';

const KNOWN_CLIENTS = 20;
const NEWCOMERS = 10;
const FLOODS_OF_GUESSES: readonly FloodName[] = ['guesses, 500 x 15', 'guesses, 2,000 x 15'];
const FLOODS_OF_ASSERTIONS = [
  { flood: 'forged assertions, 100', method: 'private_key_jwt' },
  { flood: 'forged identities, 100', method: 'federated_jwt' },
] as const;

/** More requests than a newcomer can send before their time is over. */
const BODIES_OF_NEWCOMER = 20;

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
  const known = registrations('client', KNOWN_CLIENTS, stored);
  const newcomers = registrations('new', NEWCOMERS, stored);

  /** Starts a service, runs the attack and stops the service. */
  async function against<Outcome>(name: string, attack: Attack<Outcome>, method?: AssertionMethod) {
    say(`strong, ${store}: ${name} …`);
    await using running = new AsyncDisposableStack();
    opened.defer(() => running.disposeAsync());
    const methods = await AttackedMethods.create(method === undefined ? [] : [method], running);
    const registered = method === undefined ? newcomers : methods.register(method, newcomers);
    const service = await startService(store, [...known, ...registered], methods, method, running);
    const [tokenUrl = ''] = service.tokenUrls;
    // Awaited here, since the service stops when this function returns.
    return await attack(tokenUrl, Number(new URL(tokenUrl).port), methods);
  }

  const beside = (flood: FloodName, method?: AssertionMethod) =>
    against(
      flood,
      async (tokenUrl, port, methods) => {
        const bodies = ({ client_id }: Registration) =>
          Array.from({ length: BODIES_OF_NEWCOMER }, () => (method ? methods.bodyOf(method, client_id) : ''));
        const job = {
          tokenUrl,
          secret: SECRET,
          clientIds: known.map(({ client_id }) => client_id),
          ratePerSecond: rate,
          connections: 16,
          warmUpSeconds: Math.ceil((KNOWN_CLIENTS * 16) / rate) + 1 + LEAD_SECONDS,
          seconds,
          newClientIds: newcomers.map(({ client_id }) => client_id),
          ...(method && { newClientBodies: newcomers.map(bodies) }),
          newClientEverySeconds: seconds / NEWCOMERS,
          retryMsMax: RETRY_MS_MAX,
        };
        // The flood begins when the clients have warmed up, less its lead.
        const flooding = delay((job.warmUpSeconds - LEAD_SECONDS) * 1_000).then(() =>
          runFlood({ port, flood, seconds: LEAD_SECONDS + seconds + SURPLUS_SECONDS }),
        );
        const [result] = await runLegitimateClients(job, async () => {});
        return { flood, clients: result, answers: await flooding };
      },
      method,
    );

  const floods: FloodedClients[] = [];
  for (const flood of FLOODS_OF_GUESSES) floods.push(await beside(flood));
  const assertionFloods: FloodedClients[] = [];
  for (const { flood, method } of FLOODS_OF_ASSERTIONS) assertionFloods.push(await beside(flood, method));
  const job = (port: number) => ({ port, clientId: 'new-1', ownRequest: requestFor('new-1', SECRET) });
  const lockOutMs = await against('lock-out', (_, port) => measureLockOut(job(port)));
  const hiddenGuess = await against('hidden guess', (_, port) => measureHiddenGuess(job(port)));
  return { floods, assertionFloods, lockOutMs, hiddenGuess };
}

type AssertionMethod = 'private_key_jwt' | 'federated_jwt';
type Attack<Outcome> = (tokenUrl: string, port: number, methods: AttackedMethods) => Promise<Outcome>;

/** In the table, workloads have no rules of their own: they are inserted. */
async function startService(
  store: Store,
  clients: readonly Registration[],
  methods: AttackedMethods,
  method: AssertionMethod | undefined,
  running: AsyncDisposableStack,
) {
  const { environment } = methods;
  if (store === 'memory') return startInMemory(store, clients, running, { environment });
  const database = await (await startBenchDatabaseServer(running)).create();
  if (method !== undefined) await migrateDatabase(database.url);
  const service = await startOnPostgres(store, database, clients, running, { environment });
  if (method !== undefined) await methods.insert(method, database.url, clients);
  return service;
}
