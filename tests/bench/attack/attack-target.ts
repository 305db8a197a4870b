import { availableParallelism } from 'node:os';
import { startBenchDatabaseServer } from '../bench-database.ts';
import { type Candidate, type Store, startInMemory, startOnPostgres } from '../candidates.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from '../registrations.ts';
import type { AttackJob, LegitimateJob } from './attack-drivers.ts';

const EXPENSIVE_COST = 14;
const KNOWN_CLIENTS = 20;
const NEW_CLIENT_EVERY_SECONDS = 2;
const ATTACKING_CONNECTIONS = 64;
const RETRY_MS_MAX = 250;

export interface MixedAttack {
  /** Of each phase. */
  readonly seconds: number;
  /** Requests per second of all legitimate clients together. */
  readonly rate: number;
  /** Connections that send their header section slowly. */
  readonly lorises: number;
}

/** The legitimate clients, which send requests for the given number of seconds. */
export function legitimateJob(tokenUrl: string, { seconds, rate }: MixedAttack): LegitimateJob {
  // Enough connections that each worker process of the service gets some.
  const connections = Math.max(16, 2 * availableParallelism());
  return {
    tokenUrl,
    secret: SECRET,
    clientIds: clientIds('client', KNOWN_CLIENTS),
    ratePerSecond: rate,
    connections,
    // Until each client has used each connection, plus one second.
    warmUpSeconds: Math.ceil((KNOWN_CLIENTS * connections) / rate) + 1,
    seconds,
    newClientIds: clientIds('new', newClientCount(seconds)),
    newClientEverySeconds: NEW_CLIENT_EVERY_SECONDS,
    retryMsMax: RETRY_MS_MAX,
  };
}

/** The attackers, which send guesses, unknown clients and garbage, and slow header sections. */
export function attackJob(
  tokenUrl: string,
  { lorises }: MixedAttack,
  seconds: number,
  secondsFromMs = Date.now(),
): AttackJob {
  return {
    port: Number(new URL(tokenUrl).port),
    seconds,
    connections: ATTACKING_CONNECTIONS,
    lorises,
    knownClients: clientIds('client', KNOWN_CLIENTS),
    expensiveClient: 'expensive-1',
    secondsFromMs,
  };
}

/**
 * The service under attack. Only the table has a row with cost 14: with registrations in memory, which are all known at the
 * start, the service would hash at this cost for every refusal.
 */
export async function startTarget(
  store: Store,
  { seconds }: MixedAttack,
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  const stored = await hashedSecret(RECOMMENDED_COST);
  const known = registrations('client', KNOWN_CLIENTS, stored);
  const clients = [...known, ...registrations('new', newClientCount(seconds), stored)];
  if (store === 'memory') return startInMemory('memory', clients, opened);
  const expensive = registrations('expensive', 1, await hashedSecret(EXPENSIVE_COST));
  const database = await (await startBenchDatabaseServer(opened)).create();
  return startOnPostgres('PostgreSQL', database, [...clients, ...expensive], opened);
}

function newClientCount(seconds: number): number {
  return Math.max(1, Math.floor(seconds / NEW_CLIENT_EVERY_SECONDS));
}

function clientIds(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n + 1}`);
}
