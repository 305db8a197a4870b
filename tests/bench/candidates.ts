import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { freePort } from '../support/free-port.ts';
import type { MemoryGroup } from './attack/memory-group.ts';
import { type BenchDatabase, postgresEnvironment } from './bench-database.ts';
import { peerFile } from './peers.ts';
import { ProcessTree } from './process-tree.ts';
import { type Registration, writeClientsFile } from './registrations.ts';
import { ServerProcess } from './server-process.ts';
import type { AssertionBodies, SigningClients } from './signing-clients.ts';

/** A running server whose tokens are measured. */
export interface Candidate {
  readonly name: string;
  /** One for each port; the load is spread over all of them. */
  readonly tokenUrls: readonly string[];
  /** Its public key set, readable without a token. */
  readonly keySetUrl: string;
  readonly tree: ProcessTree;
  readonly database?: BenchDatabase;
  /** The clients that send an assertion with each request; undefined if the clients send a secret. */
  readonly signingClients?: AssertionBodies | undefined;
}

export type Store = 'memory' | 'postgres';

export interface ServiceOptions {
  /** Settings beyond the registrations; everything else has its default. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The checkout to start, this one by default. Only its config/main.ts and documented settings are used. */
  readonly checkout?: string;
  /** How many services share the PostgreSQL server, 1 by default. */
  readonly services?: number;
  /** Flags of Node.js. */
  readonly flags?: readonly string[];
  readonly signingClients?: SigningClients;
  /** A control group for the processes of the service. */
  readonly group?: MemoryGroup | undefined;
}

const THIS_CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));

/** The service with its registrations in memory. */
export async function startInMemory(
  name: string,
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
  options: ServiceOptions = {},
): Promise<Candidate> {
  const memory = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: await writeClientsFile(clients, opened) };
  const environment = { ...memory, ...signingEnvironment(options), ...options.environment };
  return startService(name, { ...options, environment }, opened);
}

/** The service on a database. The service creates the table; the registrations are inserted afterwards. */
export async function startOnPostgres(
  name: string,
  database: BenchDatabase,
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
  options: ServiceOptions = {},
): Promise<Candidate> {
  const own = { ...postgresEnvironment(database.url, options.services), ...signingEnvironment(options, database) };
  if (options.signingClients !== undefined) await migrateDatabase(database.url);
  const candidate = await startService(name, { ...options, environment: { ...own, ...options.environment } }, opened);
  if (clients.length > 0) await database.insert(clients);
  await options.signingClients?.insertKeys(database.url, clients);
  return { ...candidate, database };
}

/**
 * The alternative to the worker pool: one single-process service per core, each with a port and a key of its own, which share
 * their public keys by the key directory. The service has no setting for SO_REUSEPORT and a balancer would be measured
 * too, so the load generator drives all ports at the same time.
 */
export async function startReplicas(
  name: string,
  database: BenchDatabase,
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
  { services = 1 }: Pick<ServiceOptions, 'services'>,
): Promise<Candidate> {
  const environment = {
    WORKERS: '1',
    KEY_DIRECTORY: 'postgres',
    TOKEN_ISSUER: 'http://issuer.test',
    // A replica is ready only after this time. The default is 60.
    KEY_PUBLICATION_SECONDS: '4',
  };
  const replicas: Candidate[] = [];
  for (let n = 0; n < availableParallelism(); n += 1) {
    const own = n === 0 ? clients : [];
    replicas.push(await startOnPostgres(name, database, own, opened, { services, environment }));
  }
  const [first] = replicas;
  if (first === undefined) throw new Error('there is no core to run a replica on');
  return {
    ...first,
    tokenUrls: replicas.flatMap(({ tokenUrls }) => tokenUrls),
    tree: new ProcessTree(replicas.flatMap(({ tree }) => tree.roots)),
  };
}

/** What a service needs for clients that sign assertions. On a database, it shares the used assertions with other replicas. */
function signingEnvironment(
  { signingClients }: ServiceOptions,
  database?: BenchDatabase,
): Readonly<Record<string, string>> {
  if (signingClients === undefined) return {};
  const shared = { KEY_DIRECTORY: 'postgres', KEY_PUBLICATION_SECONDS: '4' };
  return {
    CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt',
    TOKEN_ISSUER: signingClients.issuer,
    ...(database !== undefined && shared),
  };
}

async function startService(
  name: string,
  { environment = {}, checkout = THIS_CHECKOUT, flags = [], signingClients, group }: ServiceOptions,
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  const port = await freePort();
  const managementPort = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const settings = {
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    BASE_URL: baseUrl,
    // The benchmark verifies a token of each candidate.
    PUBLIC_METADATA: 'true',
    ...environment,
  };
  const args = [...flags, 'config/main.ts'];
  const server = opened.use(new ServerProcess(checkout, args, settings, group?.processesFile));
  await server.answers(`http://127.0.0.1:${managementPort}/readyz`);
  return {
    name,
    tokenUrls: [`${baseUrl}/oauth2/token`],
    keySetUrl: `${baseUrl}/oauth2/jwks`,
    tree: new ProcessTree([server.pid]),
    signingClients,
  };
}

/** Another project's server, configured for the same task by a program in tests/bench/peers; one process per core by default. */
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
  const keySetUrl = `${baseUrl}/jwks`;
  await server.answers(keySetUrl);
  return { name, tokenUrls: [`${baseUrl}/token`], keySetUrl, tree: new ProcessTree([server.pid]) };
}
