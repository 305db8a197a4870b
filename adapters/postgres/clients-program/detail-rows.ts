import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { StoredDetails, StoredKey, ValidDetails } from '../../../application/ports/client-store.ts';
import { type ClientDetails, type ClientKey, NO_DETAILS } from '../../../domain/client-details.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { thumbprintInput } from '../../../domain/public-jwk.ts';
import { TableUnusable } from '../fault.ts';
import { DETAIL_TABLES, type DetailEntries, JSON_MEMBERS, DETAIL_STATEMENTS as SQL } from './detail-statements.ts';

/** A registration, by its client id and the id of its row. A new registration of the same client id has none of these rows. */
interface RowOfClient {
  readonly clientId: string;
  readonly id: string;
}

/** The lists of JSON that one row of `find` has. */
export type DetailRecord = Readonly<Record<keyof ClientDetails, string>>;

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
    return rows[0] === undefined ? NO_DETAILS : detailsOf(rows[0], withoutNulls);
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
    const stored = { ...details, keys: details.keys.map(withKeyId) };
    for (const { kind, remove, store } of SQL.replace) {
      if (JSON.stringify(stored[kind]) === JSON.stringify(before[kind])) continue;
      this.requireTables();
      const values = [clientId, id, entriesText(kind, stored)];
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
    throw new TableUnusable(`table ${this.#missing.join(', ')} does not exist: run npm run migrate first`);
  }

  async remove(clientId: string): Promise<void> {
    for (const table of DETAIL_TABLES) {
      if (!this.#missing.includes(table)) await this.#connection.query(SQL.remove(table), [clientId]);
    }
  }
}

/** The entries of one kind as the JSON array that statements take. Undefined if that kind is not given. */
export function entriesText(
  kind: keyof ClientDetails,
  details: Partial<ClientDetails> | undefined,
): string | undefined {
  const { [kind]: entries, keys, resources } = details ?? {};
  if (kind === 'keys') return JSON.stringify(keys?.map(withKeyId));
  return JSON.stringify(kind === 'resources' ? resources?.map((resource) => ({ resource })) : entries);
}

/** The details of a row whose JSON members are texts; undefined if one is not JSON. */
export function exportedDetails(record: DetailRecord): ClientDetails | undefined {
  let isJson = true;
  const details = detailsOf(record, (entry) => {
    const parsed = Object.entries(withoutNulls(entry)).map(([member, value]) => {
      const read = JSON_MEMBERS.includes(member) ? parseJson(value) : value;
      isJson &&= read !== undefined;
      return [member, read];
    });
    return Object.fromEntries(parsed);
  });
  return isJson ? details : undefined;
}

function detailsOf(record: DetailRecord, read: (entry: object) => object): StoredDetails {
  const listOf = <Kind extends keyof ClientDetails>(kind: Kind): readonly DetailEntries[Kind][] =>
    JSON.parse(record[kind]).map(read);
  const resources = listOf('resources').map(({ resource }) => resource);
  return { secrets: listOf('secrets'), keys: listOf('keys'), subjects: listOf('subjects'), resources };
}

function withKeyId(key: ClientKey): StoredKey {
  return { ...key, key_id: createHash('sha256').update(thumbprintInput(key.jwk)).digest('base64url') };
}

/** The entry without the members that are null. */
function withoutNulls(entry: object): object {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}
