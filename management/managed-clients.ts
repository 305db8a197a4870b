import type { ClientRecord } from '../adapters/postgres/client-record.ts';
import type { Database } from '../adapters/postgres/database.ts';
import type { ClientRegistrationFields } from '../domain/client-registration.ts';
import { failure, type Result, success } from '../domain/result.ts';
import { CLIENT_STATEMENTS } from './client-statements.ts';

/** A registration to come, its secret as a BCrypt encoding. */
export type NewClient = Omit<ClientRegistrationFields, 'id'>;

/** The rows that an import has made and changed. */
export interface Imported {
  readonly added: readonly ClientRecord[];
  readonly replaced: readonly ClientRecord[];
}

/** The query of a pool, or of one of its connections. */
interface Queryable {
  query(text: string, values: readonly unknown[]): Promise<{ readonly rows: ClientRecord[] }>;
}

/**
 * The table `clients`, to be changed. Changes answer the rows as they are afterwards, and none where there was nothing
 * to change. A statement is never sent twice, since the first may have been done. Throws the driver's errors.
 */
export class ManagedClients {
  readonly #pool: Database['pool'];

  constructor(pool: Database['pool']) {
    this.#pool = pool;
  }

  list(): Promise<readonly ClientRecord[]> {
    return this.#run('list');
  }

  find(clientId: string): Promise<readonly ClientRecord[]> {
    return this.#run('find', clientId);
  }

  add(client: NewClient): Promise<readonly ClientRecord[]> {
    return insert(this.#pool, [client]);
  }

  changeSecret(clientId: string, encodedSecret: string): Promise<readonly ClientRecord[]> {
    return this.#run('changeSecret', clientId, encodedSecret);
  }

  lock(clientId: string): Promise<readonly ClientRecord[]> {
    return this.#run('lock', clientId);
  }

  unlock(clientId: string): Promise<readonly ClientRecord[]> {
    return this.#run('unlock', clientId);
  }

  remove(clientId: string): Promise<readonly ClientRecord[]> {
    return this.#run('remove', clientId);
  }

  /** All or nothing, in one transaction. Where ids are taken that are not to be replaced, it answers those and changes nothing. */
  async import(
    clients: readonly NewClient[],
    existing: 'refuse' | 'replace',
  ): Promise<Result<Imported, ReadonlySet<string>>> {
    const connection = await this.#pool.connect();
    try {
      await connection.query('begin');
      const replaced =
        existing === 'replace' ? (await connection.query(CLIENT_STATEMENTS.replace, columnsOf(clients))).rows : [];
      const there = idsOf(replaced);
      const missing = clients.filter(({ clientId }) => !there.has(clientId));
      const added = await insert(connection, missing);
      const taken = new Set(missing.map(({ clientId }) => clientId)).difference(idsOf(added));
      await connection.query(taken.size === 0 ? 'commit' : 'rollback');
      connection.release();
      return taken.size === 0 ? success({ added, replaced }) : failure(taken);
    } catch (fault) {
      // Closing the connection ends the transaction.
      connection.release(true);
      throw fault;
    }
  }

  async #run(
    statement: keyof typeof CLIENT_STATEMENTS,
    ...values: readonly string[]
  ): Promise<readonly ClientRecord[]> {
    const { rows } = await this.#pool.query<ClientRecord>(CLIENT_STATEMENTS[statement], [...values]);
    return rows;
  }
}

async function insert(where: Queryable, clients: readonly NewClient[]): Promise<readonly ClientRecord[]> {
  return (await where.query(CLIENT_STATEMENTS.insert, columnsOf(clients))).rows;
}

function columnsOf(clients: readonly NewClient[]): string[][] {
  return [
    clients.map(({ clientId }) => clientId),
    clients.map(({ clientSecret }) => clientSecret),
    clients.map(({ clientName }) => clientName),
    clients.map(({ scope }) => scope),
  ];
}

function idsOf(records: readonly ClientRecord[]): ReadonlySet<string> {
  return new Set(records.flatMap(({ clientId }) => (clientId === null ? [] : [clientId])));
}
