import { availableParallelism } from 'node:os';

/** What all services of a run together may take of a PostgreSQL server, which allows 100 connections where nobody said otherwise. */
const CONNECTIONS_MAX = 80;

const POOL_SIZE_AS_IT_SHIPS = 10;

/** The settings of a service on a database. On many cores, each of its processes gets fewer connections than it would take. */
export function postgresEnvironment(databaseUrl: string, services = 1): Readonly<Record<string, string>> {
  const poolSize = Math.max(1, Math.floor(CONNECTIONS_MAX / (services * availableParallelism())));
  return {
    CLIENT_REPOSITORY: 'postgres',
    DATABASE_URL: databaseUrl,
    ...(poolSize < POOL_SIZE_AS_IT_SHIPS && { DATABASE_POOL_SIZE: String(poolSize) }),
  };
}
