import { DETAIL_KINDS } from '../../../application/clients-program/detail-tables.ts';
import {
  DISPLAYED_TEXT_MAX,
  ENTRY_BYTES_MAX,
  EXPORTED_PAGE_BYTES_MAX,
} from '../../../application/ports/client-store.ts';
import { CLIENTS } from '../client-entity.ts';
import { exportedDetails } from './detail-statements.ts';

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

/** Parameters: as of `list`. */
const PAGE = `from $schema.clients
    where ${ID_AS_TEXT} >= $1 and ($3::text is null or ${ID_AS_TEXT} > $3) and ${ID_AS_TEXT} like $4
    ${IN_ORDER} limit $5 offset $2`;

const PROPERTIES = Object.keys(CLIENTS.columns);

/** The rows of a page with all that belongs to them, until they have EXPORTED_PAGE_BYTES_MAX; at least one. Of a longer row the details are null. */
function exportOf({ size, entries }: ReturnType<typeof exportedDetails>): string {
  const sizes = PROPERTIES.map((property) => `coalesce(pg_catalog.octet_length("${property}"), 0)`).join(' + ');
  const texts = PROPERTIES.map(
    (property) =>
      `case when fits then "${property}" else pg_catalog.left("${property}", ${DISPLAYED_TEXT_MAX}) end as "${property}"`,
  );
  return `with page as materialized (select ${CLIENTS.selectList} ${PAGE}),
    sized as materialized (select client.*, ${sizes} + ${size} as size, pg_catalog.row_number() over () as position from page as client),
    summed as materialized (select sized.*, size <= ${ENTRY_BYTES_MAX} as fits, pg_catalog.sum(size::bigint) over (order by position)::bigint as total from sized)
    select ${texts.join(', ')}, fits, ${entries}
    from summed as client where position = 1 or total <= ${EXPORTED_PAGE_BYTES_MAX} order by position`;
}

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
  list: `select ${DISPLAYED} ${PAGE}`,

  export: exportOf(exportedDetails()),

  /** Where the tables of details are missing. */
  exportWithoutDetails: () =>
    exportOf({
      size: '0',
      entries: `${DETAIL_KINDS.map((kind) => `'[]' as "${kind}"`).join(', ')}`,
    }),

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
