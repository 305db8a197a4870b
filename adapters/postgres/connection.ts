import { Socket } from 'node:net';
import { checkServerIdentity, type ConnectionOptions as TlsOptions } from 'node:tls';
import { MikroORM } from '@mikro-orm/postgresql';
import { Client, type ClientBase, type Pool, TypeOverrides, types } from 'pg';
import type { DatabaseName, PoolLoad, StatementTimes } from '../../application/ports/telemetry.ts';
import { entitiesFor, type Tables } from '../sql/entities.ts';
import { fixSearchPath, type SearchPath } from './search-path.ts';

export interface ConnectionOptions {
  /** PostgreSQL connection URL, with its password, or what returns it for each new connection. A secret. */
  readonly url: string | (() => string);
  /** The most connections that are open at once. */
  readonly poolSize: number;
  /** The longest that one statement may take, the wait for a connection included, in milliseconds. */
  readonly deadlineMs: number;
  /** Whether tables that are missing are created. By default they are; the doctor changes nothing. */
  readonly mayCreate?: boolean;
  /** Called once with what the connections are for. Returns what takes the duration of each statement of a request. */
  readonly measure?: (use: DatabaseName, pool: () => PoolLoad) => StatementTimes;
}

/** How long an idle connection is kept, and how long any connection: after a failover the pool finds the new server. */
const IDLE_MS = 30_000;
const LIFETIME_SECONDS = 1_800;
const KEEP_ALIVE_AFTER_MS = 10_000;

/** The ORM and its pool, for one use of the database. */
export type Connection = Awaited<ReturnType<typeof openConnection>>;

const ENTITIES = Object.values(entitiesFor('postgresql'));

/** Nothing connects until the first statement. */
export async function openConnection({ url, poolSize, deadlineMs, mayCreate = true }: ConnectionOptions) {
  const sockets = new Set<Socket>();
  let searchPath: SearchPath = { schemas: [], names: [], safe: '' };
  const orm = new MikroORM({
    entities: ENTITIES,
    dbName: 'as in the URL',
    ensureDatabase: false,
    logger: () => {},
    pool: { min: 1, max: poolSize, idleTimeoutMillis: IDLE_MS },
    driverOptions: {
      Client: clientsFor(typeof url === 'string' ? () => url : url),
      application_name: 'client-credentials-authorization-service',
      connectionTimeoutMillis: acquireTimeoutMs(deadlineMs),
      query_timeout: deadlineMs,
      statement_timeout: deadlineMs,
      lock_timeout: Math.ceil(deadlineMs / 2),
      maxLifetimeSeconds: LIFETIME_SECONDS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      stream: () => trackedSocket(sockets),
      // The pool waits for it before it hands the connection out.
      onConnect: async (client: ClientBase) => {
        searchPath = await fixSearchPath(client, acquireTimeoutMs(deadlineMs), searchPath);
      },
    },
  });
  const pool: Pool = await orm.em.getConnection().getNativeClient();
  return {
    pool,
    /** Builds statements. Run by the ORM itself, they would have no deadline. */
    db: orm.em.getKysely<Tables>(),
    deadlineMs,
    mayCreate,
    load(): PoolLoad {
      const { totalCount: open, idleCount: idle, waitingCount: waiting } = pool;
      return { open, max: poolSize, idle, waiting };
    },
    /** Where all connections look for tables. Connects if none is open. */
    async searchPath(): Promise<SearchPath> {
      (await pool.connect()).release();
      return searchPath;
    },
    /**
     * Waits for running statements, at most as long as the deadline, and leaves no socket open, not even to a server
     * that does not respond.
     */
    async close(): Promise<void> {
      const destroyAll = () => sockets.forEach((socket) => void socket.destroy());
      const deadline = setTimeout(destroyAll, deadlineMs);
      // The ORM ends the pool itself if it has used it.
      await orm.close();
      if (!pool.ending) await pool.end();
      clearTimeout(deadline);
      destroyAll();
    },
  };
}

/** Large integers are numbers here, as in SQLite: no time, count or id is beyond what a number holds exactly. */
const TYPES = new TypeOverrides();
TYPES.setTypeParser(types.builtins.INT8, Number);

/**
 * The class of the clients of a pool. Each gets the URL of the moment, and compares the server's certificate with the
 * host that it connects to: where that is an IP address, the driver compares it with `localhost`
 * (brianc/node-postgres#2263).
 *
 * The driver reads the files of the URL when it makes a client, and the pool does that in events, where a throw ends
 * the process. So a client that cannot be made is one that cannot connect.
 */
function clientsFor(currentUrl: () => string): typeof Client {
  // The types of the driver declare none of them.
  type OwnClient = {
    readonly host: string;
    readonly connection: { ssl?: boolean | string | TlsOptions };
  };

  function createClient(options: object): unknown {
    try {
      // Not `clientUrl` of the ORM, which would drop the URL's query: sslmode among others.
      const client = new Client({ ...options, types: TYPES, connectionString: currentUrl() });
      const { connection, host } = client as unknown as OwnClient;
      if (!connection.ssl) return client;
      if (typeof connection.ssl !== 'object') connection.ssl = {};
      // A mode that compares no names has a check that passes.
      connection.ssl.checkServerIdentity ??= (_name, certificate) => checkServerIdentity(host, certificate);
      return client;
    } catch (fault) {
      const connect = (done: (fault: unknown) => void) => setImmediate(done, fault);
      return Object.assign(new Client(options), { connect });
    }
  }
  // What `new` calls may return another object than its own.
  return createClient as unknown as typeof Client;
}

/** The longest wait for a connection, new or pooled: half the deadline, which leaves time to use it. */
export function acquireTimeoutMs(deadlineMs: number): number {
  return Math.ceil(deadlineMs / 2);
}

function trackedSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket();
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  return socket;
}
