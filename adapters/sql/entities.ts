import { defineEntity, p } from '@mikro-orm/core';
import type { InferKyselyTable } from '@mikro-orm/sql';

/** A database that has the tables. */
export type DatabaseKind = 'postgresql' | 'sqlite';

/** In the comment of the table: it has had both documents, so that one that is missing is lost. */
export const RECORD = '[authorization service: columns credentials, details]';

/**
 * The tables of the service, as MikroORM creates them in either database, and as Kysely knows their columns. Ids are
 * compared byte by byte. Texts have no length limit here: reading refuses what is too long. Times are in seconds since
 * the epoch, by the clock of the database. `client_subjects` of SQLite is not among them: triggers fill it, and its
 * migration creates it.
 */
export function entitiesFor(kind: DatabaseKind) {
  const isFile = kind === 'sqlite';
  const id = () => (isFile ? p.text() : p.text().collation('C'));
  const integer = () => (isFile ? p.bigint('number').columnType('integer') : p.bigint('number'));
  const document = () =>
    p
      .json<string>()
      .columnType(isFile ? 'text' : 'jsonb')
      .defaultRaw(`'{}'`);
  /** SQLite stores a value of any type in any column. */
  const check = (name: string, expression: string) => ({ name: `${name}_check`, expression });
  const text = (name: string) => check(name, `typeof(${name}) = 'text'`);
  const object = (name: string) =>
    check(name, `typeof(${name}) = 'text' and json_valid(${name}) and json_type(${name}) = 'object'`);
  return {
    /** Another application may have created it. What a stranger makes the service read comes first. */
    clients: defineEntity({
      name: 'Client',
      tableName: 'clients',
      ...(!isFile && { comment: RECORD }),
      checks: isFile
        ? [
            ...['client_id', 'client_secret', 'client_name', 'scope'].map(text),
            ...['credentials', 'details'].map(object),
          ]
        : [],
      properties: {
        id: isFile ? integer().primary().autoincrement() : integer().primary().generated('by default as identity'),
        client_id: id().unique(),
        client_secret: p.text(),
        credentials: document(),
        client_name: p.text(),
        scope: p.text(),
        details: document(),
      },
    }),

    /** The keys of all replicas, sealed. */
    key_ring: defineEntity({
      name: 'KeyRingRow',
      tableName: 'key_ring',
      uniques: [{ properties: ['algorithm', 'step'] }],
      properties: {
        kid: id().primary(),
        algorithm: id().nullable(),
        step: integer().nullable(),
        sealed: p.text().nullable(),
        created_at: integer(),
        known_at: integer(),
        signs_from: integer(),
        verifies_until: integer(),
        ended_at: integer().nullable(),
        revoked_at: integer().nullable(),
      },
    }),

    /**
     * Assertions that clients have used, so that none is used again, in whichever replica. `digest` is of client id and
     * `jti`. A replica may repeat a statement whose response it has not received: `use_id` shows that the row is its
     * own.
     */
    used_assertions: defineEntity({
      name: 'UsedAssertion',
      tableName: 'used_assertions',
      properties: {
        digest: id().primary(),
        client_id: id(),
        kept_until: integer().index('used_assertions_kept_until'),
        use_id: p.text(),
      },
    }),

    /**
     * One token of a client by its `jti` until its end, or, with an empty `token_id`, all of the client that were
     * issued until `issued_until`.
     */
    revocations: defineEntity({
      name: 'Revocation',
      tableName: 'revocations',
      properties: {
        client_id: id().primary(),
        token_id: id().primary(),
        issued_until: integer().nullable(),
        kept_until: integer().index('revocations_kept_until'),
      },
    }),

    /** The day of each client's last token, in days since 1970; with an empty `client_id`, when the record began. */
    last_used: defineEntity({
      name: 'LastUsed',
      tableName: 'last_used',
      properties: { client_id: id().primary(), last_day: p.integer() },
    }),
  };
}

type Entities = ReturnType<typeof entitiesFor>;

export type TableName = keyof Entities;

/** The columns of each table, as a driver returns them. */
export type Tables = { [Name in TableName]: InferKyselyTable<Entities[Name]> };
