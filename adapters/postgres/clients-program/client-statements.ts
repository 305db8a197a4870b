import { DISPLAYED_TEXT_MAX } from '../../../application/ports/client-store.ts';
import { CLIENTS } from '../client-entity.ts';

const { id: ID, clientId: CLIENT_ID } = CLIENTS.columns;

/** The columns that a new row gives. */
export const GIVEN_COLUMNS = (['clientId', 'clientSecret', 'clientName', 'scope'] as const)
  .map((property) => CLIENTS.columns[property])
  .join(', ');

/** The columns as text for display: a text of any length is cut before it leaves the server. */
const DISPLAYED = Object.entries(CLIENTS.columns)
  .map(([property, column]) => `pg_catalog.left(clients.${column}::text, ${DISPLAYED_TEXT_MAX}) as "${property}"`)
  .join(', ');

// Every column is cast: whatever types a table of another application has, client ids are compared byte by byte. In the
// table as we create it, the unique index serves these comparisons.
const ID_AS_TEXT = `clients.${CLIENT_ID}::text collate "C"`;
const IS_LISTED = `clients.${CLIENT_ID}::text = $1::text collate "C"`;
const IN_ORDER = `order by ${ID_AS_TEXT}, clients.${ID}`;

/** Parameters: client id, new values and old ones. If a client id has several rows, the old values identify them. */
function changeOf(field: keyof typeof CLIENTS.columns): string {
  const column = CLIENTS.columns[field];
  return `update $schema.clients set ${column} = given.new_value
    from rows from (pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[])) as given (new_value, old_value)
    where ${IS_LISTED} and coalesce(clients.${column}::text, '') = given.old_value`;
}

/** Statements that manage the table `clients`. Except for `findAndLock`, they return texts for display. */
export const CLIENT_STATEMENTS = {
  /**
   * A page. Parameters: the client id at which it begins, the number of its rows that earlier pages had, a client id
   * behind which the list begins or null, a pattern of ids, and the most rows.
   */
  list: `select ${DISPLAYED} from $schema.clients
    where ${ID_AS_TEXT} >= $1 and ($3::text is null or ${ID_AS_TEXT} > $3) and ${ID_AS_TEXT} like $4
    ${IN_ORDER} limit $5 offset $2`,

  /** A page of the rows without a client id. Parameters: the number of rows that earlier pages had, and the most rows. */
  listNulls: `select ${DISPLAYED} from $schema.clients where clients.${CLIENT_ID} is null
    order by clients.${ID} limit $2 offset $1`,

  /** Parameter: client id. */
  find: `select ${DISPLAYED} from $schema.clients where ${IS_LISTED} ${IN_ORDER}`,

  /** As `find`, with whole texts; no other transaction can change these rows until this one ends. */
  findAndLock: `select ${CLIENTS.selectList} from $schema.clients where ${IS_LISTED} ${IN_ORDER} for update`,

  /** Parameters: the columns. Inserts the client and returns it, or returns no row if its id is taken. */
  insert: `insert into $schema.clients (${GIVEN_COLUMNS}) select $1::text, $2::text, $3::text, $4::text
    where not exists (select from $schema.clients where ${IS_LISTED})
    on conflict do nothing returning ${DISPLAYED}`,

  /** Each replaces one column. */
  change: { clientSecret: changeOf('clientSecret'), clientName: changeOf('clientName'), scope: changeOf('scope') },

  /** Parameter: client id. */
  remove: `delete from $schema.clients where ${IS_LISTED} returning ${DISPLAYED}`,
} as const;
