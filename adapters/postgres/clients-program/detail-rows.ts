import { hash } from 'node:crypto';
import type { PoolClient } from 'pg';
import {
  DETAIL_TABLES,
  detailsOf,
  entriesText,
  withKeyIds,
} from '../../../application/clients-program/detail-tables.ts';
import type { StoredDetails, ValidDetails } from '../../../application/ports/client-store.ts';
import { type ClientDetails, NO_DETAILS } from '../../../domain/client-details.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { TableUnusable } from '../fault.ts';
import { FIND_OWN_TABLES } from '../own-tables.ts';
import { DETAIL_STATEMENTS as SQL } from './detail-statements.ts';

/** A registration, by its client id and the id of its row. A new registration of the same client id has none of these rows. */
interface RowOfClient {
  readonly clientId: string;
  readonly id: string;
}

/** The lists of JSON that one row of `find` has. */
export type DetailRecord = Readonly<Record<keyof ClientDetails, string>>;

/** The members that are text which contains JSON. */
const JSON_MEMBERS = Object.values(DETAIL_TABLES).flatMap(({ columns }) =>
  Object.entries(columns).flatMap(([column, type]) => (type === 'json' ? [column] : [])),
);

/** The tables of details, within a transaction of their user. Without the tables there is nothing to read or to remove. */
export class DetailRows {
  readonly #connection: PoolClient;
  readonly #missing: readonly string[];

  private constructor(connection: PoolClient, missing: readonly string[]) {
    this.#connection = connection;
    this.#missing = missing;
  }

  static async on(connection: PoolClient): Promise<DetailRows> {
    const { rows } = await connection.query<{ readonly name: string }>(FIND_OWN_TABLES);
    const there = new Set(rows.map(({ name }) => name));
    return new DetailRows(
      connection,
      Object.values(DETAIL_TABLES).flatMap(({ name }) => (there.has(name) ? [] : name)),
    );
  }

  async find({ clientId, id }: RowOfClient): Promise<StoredDetails> {
    if (this.#missing.length > 0) return NO_DETAILS;
    const { rows } = await this.#connection.query<DetailRecord>(SQL.find, [clientId, id]);
    return rows[0] === undefined ? NO_DETAILS : detailsOf(rows[0]);
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
    const stored = { ...details, keys: withKeyIds(details.keys, sha256) };
    for (const { kind, remove, store } of SQL.replace) {
      if (JSON.stringify(stored[kind]) === JSON.stringify(before[kind])) continue;
      this.requireTables();
      const values = [clientId, id, entriesText(kind, stored, sha256)];
      await this.#connection.query(remove, values);
      if (stored[kind].length > 0) await this.#connection.query(store, values);
    }
    return stored;
  }

  get areMissing(): boolean {
    return this.#missing.length > 0;
  }

  /** Throws TableUnusable if details cannot be stored. */
  requireTables(): void {
    if (!this.areMissing) return;
    const text = `table ${this.#missing.join(', ')} does not exist`;
    throw new TableUnusable({ code: 'table_missing', text, fix: 'run npm run migrate first' });
  }

  async remove(clientId: string): Promise<void> {
    for (const { name } of Object.values(DETAIL_TABLES)) {
      if (!this.#missing.includes(name)) await this.#connection.query(SQL.remove(name), [clientId]);
    }
  }
}

/** The details of a row whose JSON members are texts; undefined if one is not JSON. */
export function exportedDetails(record: DetailRecord): ClientDetails | undefined {
  let isJson = true;
  const details = detailsOf(record, (member, value) => {
    if (!JSON_MEMBERS.includes(member)) return value;
    const read = parseJson(String(value));
    isJson &&= read !== undefined;
    return read;
  });
  return isJson ? details : undefined;
}

export function sha256(text: string): string {
  return hash('sha256', text, 'base64url');
}
