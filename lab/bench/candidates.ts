import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { migrateFile } from '../../adapters/sqlite/migrate-file.ts';
import { freePort } from '../../tests/support/free-port.ts';
import { SEALED_KEYS } from '../../tests/support/sealed-keys.ts';
import { ServerProcess } from '../../tests/support/server-process.ts';
import { type AssertionClients, methodSettings } from './assertion-clients.ts';
import type { MemoryGroup } from './attack/memory-group.ts';
import { type BenchDatabase, postgresEnvironment, startBenchDatabaseServer } from './bench-database.ts';
import type { Repository } from './command-line.ts';
import { peerFile } from './peers.ts';
import { ProcessTree } from './process-tree.ts';
import { type Registration, temporaryFolder, writeClientsFile } from './registrations.ts';

/** A running server whose tokens are measured. */
export interface Candidate {
  readonly name: string;
  /** One for each port; the load is spread over all of them. */
  readonly tokenUrls: readonly string[];
  /** The port of the first of them. */
  readonly port: number;
  /** Its metrics; undefined for another server. */
  readonly metricsUrl?: string | undefined;
  /** Its public key set, readable without a token. */
  readonly keySetUrl: string;
  readonly tree: ProcessTree;
  /** What its tokens are signed with; undefined for RS256. */
  readonly algorithm?: string | undefined;
  readonly database?: BenchDatabase;
  /** The clients that send an assertion with each request; undefined if the clients send a secret. */
  readonly assertions?: AssertionClients | undefined;
}

export interface ServiceOptions {
  /** Settings beyond the registrations; everything else has its default. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The checkout to start, this one by default. Only its config/main.ts and documented settings are used. */
  readonly checkout?: string;
  /** How many services share the PostgreSQL server, 1 by default. */
  readonly services?: number;
  /** Flags of Node.js, beside those of `npm start`. */
  readonly flags?: readonly string[];
  /**
   * With their registrations, the clients are those that send assertions. The settings allow nothing else by default.
   */
  readonly assertions?: AssertionClients | undefined;
  /** A control group for the processes of the service. */
  readonly group?: MemoryGroup | undefined;
}

/** Settings of replicas, which share keys and used assertions. */
export const REPLICA_SETTINGS = { ...SEALED_KEYS, KEY_PUBLICATION_SECONDS: '4' };

const THIS_CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));

/** The service with its registrations in memory, or on a new database. */
export async function startOn(
  repository: Repository,
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
  options: ServiceOptions = {},
): Promise<Candidate> {
  if (repository === 'memory') return startInMemory(repository, clients, opened, options);
  const databases = await startBenchDatabaseServer(opened);
  return startOnPostgres(repository, await databases.create(), clients, opened, options);
}

/** The service on a storage that has its registrations. */
export function startStored(
  name: string,
  storage: Readonly<Record<string, string>>,
  options: ServiceOptions,
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  return startService(name, storage, options, opened);
}

/** The service with its registrations in memory. */
export async function startInMemory(
  name: string,
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
  options: ServiceOptions = {},
): Promise<Candidate> {
  const clientsFile = await writeClientsFile(clients, opened);
  return startService(name, { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: clientsFile }, options, opened);
}

/** The service with its registrations in a SQLite file. */
export async function startOnSqlite(
  name: string,
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  const file = join(await temporaryFolder(opened), 'clients.sqlite');
  await migrateFile(file);
  const database = new DatabaseSync(file);
  const insert = database.prepare(
    'insert into clients (client_id, client_secret, client_name, scope) values (:client_id, :client_secret, :client_name, :scope)',
  );
  for (const client of clients) insert.run({ ...client });
  database.close();
  return startService(name, { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: file }, {}, opened);
}

/** The service on a database. The service creates the table; the registrations are inserted afterwards. */
export async function startOnPostgres(
  name: string,
  database: BenchDatabase,
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
  options: ServiceOptions = {},
): Promise<Candidate> {
  if (options.assertions !== undefined) await migrateDatabase(database.url);
  const candidate = await startService(name, postgresEnvironment(database.url, options.services), options, opened);
  if (clients.length > 0) await database.insert(clients);
  await options.assertions?.insert(database.url, clients);
  return { ...candidate, database };
}

/**
 * One replica per core, each with a port and its own key, which share their public keys by the key directory. A
 * balancer would be measured too, so the load generator drives all ports at the same time.
 */
export async function startReplicas(
  name: string,
  database: BenchDatabase,
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
  { services = 1 }: Pick<ServiceOptions, 'services'>,
): Promise<Candidate> {
  const environment = { TOKEN_ISSUER: 'http://issuer.test', ...REPLICA_SETTINGS };
  const replicas: Candidate[] = [];
  for (let n = 0; n < availableParallelism(); n += 1) {
    const own = n === 0 ? clients : [];
    replicas.push(await startOnPostgres(name, database, own, opened, { services, environment }));
  }
  return {
    ...(replicas[0] as Candidate),
    tokenUrls: replicas.flatMap(({ tokenUrls }) => tokenUrls),
    tree: new ProcessTree(replicas.flatMap(({ tree }) => tree.roots)),
  };
}

async function startService(
  name: string,
  storage: Readonly<Record<string, string>>,
  { environment, checkout = THIS_CHECKOUT, flags = [], assertions, group }: ServiceOptions,
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  const [port, managementPort] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  const settings = {
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    BASE_URL: baseUrl,
    // The benchmark verifies a token of each candidate.
    PUBLIC_METADATA: 'true',
    ...storage,
    ...(assertions && methodSettings([assertions.method], assertions)),
    ...environment,
  };
  const args = [...startFlags(checkout), ...flags, 'config/main.ts'];
  const server = opened.use(new ServerProcess(checkout, args, settings, group?.processesFile));
  await server.answers(`http://127.0.0.1:${managementPort}/readyz`);
  const [tokenUrls, keySetUrl] = [[`${baseUrl}/oauth2/token`], `${baseUrl}/oauth2/jwks`];
  const algorithm = environment?.['TOKEN_SIGNING_ALG'];
  const metricsUrl = `http://127.0.0.1:${managementPort}/metrics`;
  return { name, tokenUrls, port, metricsUrl, keySetUrl, tree: new ProcessTree([server.pid]), algorithm, assertions };
}

/** The flags of Node.js with which `npm start` runs a checkout. */
function startFlags(checkout: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
  return scripts.start.match(/ --\S+/g)?.map((flag: string) => flag.trim()) ?? [];
}

/** A program that only reads a request and signs: what any server in Node.js can reach at most. */
export const SIGNING_SERVER_FILE = fileURLToPath(new URL('./signing-server.ts', import.meta.url));

/** One process of that program. */
export async function startSigningServer(
  name: string,
  algorithm: string,
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const settings = { PORT: String(port), BASE_URL: baseUrl, ALG: algorithm };
  const server = opened.use(new ServerProcess(THIS_CHECKOUT, [SIGNING_SERVER_FILE], settings));
  await server.answers(baseUrl);
  const [tokenUrls, tree] = [[`${baseUrl}/oauth2/token`], new ProcessTree([server.pid])];
  return { name, tokenUrls, port, keySetUrl: baseUrl, tree, algorithm };
}

/**
 * Another project's server, configured for the same task by a program in tests/bench/peers; one process per core by
 * default.
 */
export async function startPeer(
  name: string,
  program: 'oidc-provider.mjs' | 'node-oauth2-server.mjs',
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
  environment: Readonly<Record<string, string>> = {},
): Promise<Candidate> {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const file = await writeClientsFile(clients, opened);
  const settings = { PORT: String(port), BASE_URL: baseUrl, CLIENTS_FILE: file, ...environment };
  const server = opened.use(new ServerProcess(THIS_CHECKOUT, [peerFile(program)], settings));
  const [tokenUrls, keySetUrl] = [[`${baseUrl}/token`], `${baseUrl}/jwks`];
  await server.answers(keySetUrl);
  return { name, tokenUrls, port, keySetUrl, tree: new ProcessTree([server.pid]), algorithm: environment['ALG'] };
}
