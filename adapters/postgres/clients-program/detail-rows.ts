import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { StoredDetails, StoredKey, ValidDetails } from '../../../application/ports/client-store.ts';
import { type ClientDetails, NO_DETAILS } from '../../../domain/client-details.ts';
import { thumbprintInput } from '../../../domain/public-jwk.ts';
import { TableUnusable } from '../fault.ts';
import { DETAIL_TABLES, type DetailEntries, DETAIL_STATEMENTS as SQL } from './detail-statements.ts';

/** A registration, by its client id and the id of its row. A new registration of the same client id has none of these rows. */
interface RowOfClient {
  readonly clientId: string;
  readonly id: string;
}

/** The lists of JSON that one row of `find` has. */
type DetailRecord = Readonly<Record<keyof ClientDetails, string>>;

/** The tables of details, within a transaction of their user. Without the tables there is nothing to read or to remove. */
export class DetailRows {
  readonly #connection: PoolClient;
  readonly #missing: readonly string[];

  private constructor(connection: PoolClient, missing: readonly string[]) {
    this.#connection = connection;
    this.#missing = missing;
  }

  static async on(connection: PoolClient): Promise<DetailRows> {
    const { rows } = await connection.query<{ readonly name: string }>(SQL.findMissing);
    return new DetailRows(
      connection,
      rows.map(({ name }) => name),
    );
  }

  async find({ clientId, id }: RowOfClient): Promise<StoredDetails> {
    if (this.#missing.length > 0) return NO_DETAILS;
    const { rows } = await this.#connection.query<DetailRecord>(SQL.find, [clientId, id]);
    const listOf = <Kind extends keyof ClientDetails>(kind: Kind): readonly DetailEntries[Kind][] =>
      JSON.parse(rows[0]?.[kind] ?? '[]').map(withoutNulls);
    const resources = listOf('resources').map(({ resource }) => resource);
    return { secrets: listOf('secrets'), keys: listOf('keys'), subjects: listOf('subjects'), resources };
  }

  /** One for each of the clients, in their order. */
  async summarize(clients: readonly RowOfClient[], now: number): Promise<readonly ValidDetails[]> {
    if (this.#missing.length > 0) return clients.map(() => ({ secret: false, key: false, subject: false }));
    const columns = (['clientId', 'id'] as const).map((field) => clients.map((client) => client[field]));
    return (await this.#connection.query<ValidDetails>(SQL.summarize, [...columns, now])).rows;
  }

  /**
   * Stores the details instead of those before, and writes only the kinds that differ. Throws TableUnusable if there are
   * details but no tables.
   */
  async replace({ clientId, id }: RowOfClient, before: ClientDetails, details: ClientDetails): Promise<StoredDetails> {
    const stored = { ...details, keys: details.keys.map((key) => ({ ...key, key_id: thumbprintOf(key.jwk) })) };
    for (const { kind, remove, store } of SQL.replace) {
      if (JSON.stringify(stored[kind]) === JSON.stringify(before[kind])) continue;
      if (this.#missing.length > 0) throw missingTables(this.#missing);
      const entries = kind === 'resources' ? stored.resources.map((resource) => ({ resource })) : stored[kind];
      const values = [clientId, id, JSON.stringify(entries)];
      await this.#connection.query(remove, values);
      if (stored[kind].length > 0) await this.#connection.query(store, values);
    }
    return stored;
  }

  async remove(clientId: string): Promise<void> {
    for (const table of DETAIL_TABLES) {
      if (!this.#missing.includes(table)) await this.#connection.query(SQL.remove(table), [clientId]);
    }
  }
}

function missingTables(names: readonly string[]): TableUnusable {
  return new TableUnusable(`table ${names.join(', ')} does not exist: run npm run migrate first`);
}

function thumbprintOf(jwk: StoredKey['jwk']): string {
  return createHash('sha256').update(thumbprintInput(jwk)).digest('base64url');
}

/** The entry without the members that are null. */
function withoutNulls(entry: object): object {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}
