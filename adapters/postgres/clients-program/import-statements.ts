import { DETAIL_KINDS } from '../../../application/clients-program/detail-tables.ts';
import { CLIENTS } from '../client-entity.ts';
import { GIVEN_COLUMNS } from './client-statements.ts';
import { replacement } from './detail-statements.ts';

const {
  id: ID,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  clientName: CLIENT_NAME,
  scope: SCOPE,
} = CLIENTS.columns;

/** Visible to this session only, and never written to the write-ahead log. */
const IMPORTED = 'pg_temp.imported_clients';
const IS_IMPORTED = `clients.${CLIENT_ID}::text = imported.${CLIENT_ID} collate "C"`;

const DETAIL_COLUMNS = DETAIL_KINDS.join(', ');

/** Parameters 2 and following: an array of texts for each column and each kind. */
const GIVEN_TEXTS = [CLIENT_ID, CLIENT_SECRET, CLIENT_NAME, SCOPE, ...DETAIL_KINDS].map(
  (_, index) => `pg_catalog.unnest($${index + 2}::text[])`,
);

/** The next clients in the order of their ids. Parameters: the last client id before, or null; and how many. */
const BATCH = `batch as materialized (select * from ${IMPORTED} as imported
    where $1::text is null or imported.${CLIENT_ID} > $1 order by imported.${CLIENT_ID} limit $2)`;

/** Which of the imported clients an outcome means. Before `save`, `stored` is null; after it, that means an added client. */
const OUTCOMES = {
  added: 'stored is null',
  replaced: 'stored is not null',
  locked: "stored = 'locked'",
} as const;

/**
 * Memory that the server may use for the temporary table of one session. It takes what the table needs: 220 MB for a million
 * clients. With the default of 8 MB, most look-ups by id read a page that the table has lost meanwhile.
 */
const TEMPORARY_MEMORY = '256MB';

/** Statements of an import, in the order of their use. Clients wait in a temporary table, and are stored in batches. */
export const IMPORT_STATEMENTS = {
  /** Several statements. */
  create: `set temp_buffers = '${TEMPORARY_MEMORY}';
    drop table if exists ${IMPORTED};
    create temporary table imported_clients (${CLIENT_ID} text collate "C" primary key, ${CLIENT_SECRET} text,
      ${CLIENT_NAME} text, ${SCOPE} text, ${DETAIL_KINDS.map((kind) => `${kind} text`).join(', ')}, position bigint, stored text)
      on commit preserve rows`,

  /** Parameters: arrays of positions, of the columns, and of the entries of each kind as JSON. Leaves out ids that are there already. */
  add: `insert into ${IMPORTED} (position, ${GIVEN_COLUMNS}, ${DETAIL_COLUMNS})
    select * from rows from (pg_catalog.unnest($1::bigint[]), ${GIVEN_TEXTS.join(', ')}) as given on conflict do nothing`,

  /** Parameters: arrays of client ids and positions. The clients that were left out. */
  repeated: `select given.position::text as "position", imported.position::text as "first"
    from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::bigint[])) as given (${CLIENT_ID}, position)
    join ${IMPORTED} as imported on imported.${CLIENT_ID} = given.${CLIENT_ID}
    where imported.position <> given.position order by given.position`,

  /**
   * Several statements. One import after the other; the wait is longer than that for the lock of a row. Each batch looks its
   * clients up by an index: the planner would rather read a whole table of any size, once for each batch.
   */
  begin: (waitMs: number) => `analyze ${IMPORTED};
    begin isolation level read committed;
    set local enable_seqscan = off;
    set local lock_timeout = ${waitMs};
    set local statement_timeout = ${waitMs};
    select pg_catalog.pg_advisory_xact_lock('$schema.clients'::regclass::oid::bigint);
    reset lock_timeout;
    reset statement_timeout`,

  /** The stored rows of a batch, which no other transaction can change until this one ends. Locked in order. */
  findAndLock: `with ${BATCH} select clients.${CLIENT_ID}::text as "clientId",
      coalesce(clients.${CLIENT_SECRET}::text, '') as "stored", imported.${CLIENT_SECRET} as "given",
      (clients.${CLIENT_NAME}::text, clients.${SCOPE}::text)
        is distinct from (imported.${CLIENT_NAME}, imported.${SCOPE}) as "differs"
    from batch as imported join $schema.clients on ${IS_IMPORTED} order by imported.${CLIENT_ID} for update of clients`,

  /** Parameters: arrays of client ids and states, of all clients of the batch that are stored already. */
  note: `update ${IMPORTED} as imported set stored = given.state
    from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) as given (${CLIENT_ID}, state)
    where imported.${CLIENT_ID} = given.${CLIENT_ID} collate "C"`,

  /**
   * Parameters: arrays of client ids, new secrets and old secrets. If a client id has several rows, their old secrets
   * identify them.
   */
  replace: `with given as (select * from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[]),
        pg_catalog.unnest($3::text[])) as given (${CLIENT_ID}, new_secret, old_secret))
    update $schema.clients
      set ${CLIENT_SECRET} = given.new_secret, ${CLIENT_NAME} = imported.${CLIENT_NAME}, ${SCOPE} = imported.${SCOPE}
      from given join ${IMPORTED} as imported on imported.${CLIENT_ID} = given.${CLIENT_ID} collate "C"
      where ${IS_IMPORTED} and coalesce(clients.${CLIENT_SECRET}::text, '') = given.old_secret`,

  /**
   * Inserts the clients of a batch that were not replaced. The row has the last id of the batch, its size, how many are
   * inserted, and the positions of the others, whose ids are taken. Those are computed only if there are any, since the
   * planner may compare every client with every other.
   */
  insert: `with ${BATCH}, added as (insert into $schema.clients (${GIVEN_COLUMNS})
      select ${GIVEN_COLUMNS} from batch as imported
        where stored is null and not exists (select from $schema.clients where ${IS_IMPORTED}) order by imported.${CLIENT_ID}
      on conflict do nothing returning clients.${CLIENT_ID}::text as id)
    select pg_catalog.max(${CLIENT_ID} collate "C") as "last", pg_catalog.count(*)::int as "size",
      (select pg_catalog.count(*) from added)::int as "added",
      case when (select pg_catalog.count(*) from added) = pg_catalog.count(*) filter (where stored is null) then '{}'::text[]
        else (select pg_catalog.array_agg(position::text order by position) from batch
          where stored is null and not exists (select from added where id = ${CLIENT_ID} collate "C")) end as "taken"
      from batch`,

  /** After `insert`, of the clients of a batch for which a kind is given. */
  details: DETAIL_KINDS.map((kind) => ({
    kind,
    ...replacement(
      kind,
      `(with ${BATCH} select imported.${CLIENT_ID} as client_id, clients.${ID}::text as registration_id, imported.${kind} as entries
        from batch as imported join $schema.clients on ${IS_IMPORTED} where imported.${kind} is not null)`,
    ),
  })),

  /** A page of ids, in order. Parameters as for a batch. */
  ids: (outcome: keyof typeof OUTCOMES) => `select imported.${CLIENT_ID} as "clientId" from ${IMPORTED} as imported
    where ($1::text is null or imported.${CLIENT_ID} > $1) and ${OUTCOMES[outcome]}
    order by imported.${CLIENT_ID} limit $2`,

  drop: `drop table if exists ${IMPORTED}`,
} as const;
