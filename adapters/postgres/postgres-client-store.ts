import type { PoolClient } from 'pg';
import {
  type ChangedClients,
  type ClientStore,
  type SavedClients,
  type SecretReplacement,
  ValueRefused,
} from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { CLIENTS, type ClientRecord, fieldsOf } from './client-entity.ts';
import { CLIENT_STATEMENTS as SQL } from './client-statements.ts';
import { type Connection, openConnection } from './connection.ts';
import { hasState, loggableFault, SQLSTATE } from './fault.ts';
import { probeTable } from './table.ts';

/** How long a statement may take; half of it for a connection, and for a lock. */
const DEADLINE_MS = 10_000;

/** The table `clients`, to manage it. Each method is one transaction that locks the rows before it changes them. */
export class PostgresClientStore implements ClientStore {
  readonly #connection: Connection;
  #prepared: Promise<unknown> | undefined;

  private constructor(connection: Connection) {
    this.#connection = connection;
    // A connection that breaks between two statements fails at the second.
    connection.pool.on('error', () => {});
  }

  /** Connects at the first use, and then creates the table if it is missing. */
  static async open(url: string): Promise<PostgresClientStore> {
    const options = { url, poolSize: 1, deadlineMs: DEADLINE_MS };
    return new PostgresClientStore(await openConnection(options, CLIENTS.schema));
  }

  list(): Promise<readonly ClientRegistrationFields[]> {
    return this.#transaction((connection) => query(connection, SQL.list));
  }

  find(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    return this.#transaction((connection) => query(connection, SQL.find, [clientId]));
  }

  save(
    clients: readonly NewClient[],
    replacement?: SecretReplacement,
  ): Promise<Result<SavedClients, ReadonlySet<string>>> {
    return this.#transaction(
      async (connection) => {
        const replaced = replacement === undefined ? [] : await replace(connection, clients, replacement);
        const stored = idsOf(replaced);
        const missing = clients.filter(({ clientId }) => !stored.has(clientId));
        const added = await query(connection, SQL.insert, ...columnsOf(missing));
        const taken = idsOf(missing).difference(idsOf(added));
        return taken.size === 0 ? success({ added, replaced }) : failure(taken);
      },
      ({ ok }) => ok,
    );
  }

  changeSecret(clientId: string, change: (stored: string) => string): Promise<ChangedClients> {
    return this.#transaction(async (connection) => {
      const stored = await query(connection, SQL.findAndLock, [clientId]);
      const clients = stored.map((client) => ({ ...client, clientSecret: change(client.clientSecret) }));
      const changed = clients.some(({ clientSecret }, row) => clientSecret !== stored[row]?.clientSecret);
      if (changed) await query(connection, SQL.changeSecret, ...columnsOf(clients), secretsOf(stored));
      return { clients, changed };
    });
  }

  remove(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    return this.#transaction((connection) => query(connection, SQL.remove, [clientId]));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Commits the work if its outcome is to be kept; otherwise rolls it back. */
  async #transaction<Outcome>(
    work: (connection: PoolClient) => Promise<Outcome>,
    isKept: (outcome: Outcome) => boolean = () => true,
  ): Promise<Outcome> {
    try {
      const { pool } = this.#connection;
      this.#prepared ??= probeTable(CLIENTS, this.#connection).prepare();
      await this.#prepared;
      const connection = await pool.connect();
      try {
        // The rows are read as they are once they are locked, whatever level the database has by default.
        await connection.query('begin isolation level read committed');
        const outcome = await work(connection);
        await connection.query(isKept(outcome) ? 'commit' : 'rollback');
        connection.release();
        return outcome;
      } catch (fault) {
        // Closing the connection ends the transaction.
        connection.release(true);
        throw fault;
      }
    } catch (fault) {
      if (fault instanceof TypeError || fault instanceof RangeError) throw fault; // A bug here, not the database.
      const cause = loggableFault(fault);
      if (hasState(fault, SQLSTATE.valueRefused)) throw new ValueRefused(cause);
      throw new DependencyUnavailable('client store', cause);
    }
  }
}

async function query(
  connection: PoolClient,
  statement: string,
  ...values: readonly (readonly string[])[]
): Promise<readonly ClientRegistrationFields[]> {
  const { rows } = await connection.query<ClientRecord>(statement, [...values]);
  return rows.map(fieldsOf);
}

async function replace(
  connection: PoolClient,
  clients: readonly NewClient[],
  replacement: SecretReplacement,
): Promise<readonly ClientRegistrationFields[]> {
  const given = new Map(clients.map((client) => [client.clientId, client]));
  const stored = await query(connection, SQL.findAndLock, [...given.keys()]);
  const replaced = stored.map((client) => {
    const next = { ...client, ...given.get(client.clientId) };
    return { ...next, clientSecret: replacement(client.clientSecret, next.clientSecret) };
  });
  await query(connection, SQL.replace, ...columnsOf(replaced), secretsOf(stored));
  return replaced;
}

function columnsOf(clients: readonly NewClient[]): readonly string[][] {
  return (['clientId', 'clientSecret', 'clientName', 'scope'] as const).map((field) =>
    clients.map((client) => client[field]),
  );
}

function secretsOf(clients: readonly NewClient[]): readonly string[] {
  return clients.map(({ clientSecret }) => clientSecret);
}

function idsOf(clients: readonly NewClient[]): ReadonlySet<string> {
  return new Set(clients.map(({ clientId }) => clientId));
}
