import { CLIENTS } from './client-entity.ts';

const {
  id: ID,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  clientName: CLIENT_NAME,
  scope: SCOPE,
} = CLIENTS.columns;
const GIVEN_COLUMNS = [CLIENT_ID, CLIENT_SECRET, CLIENT_NAME, SCOPE].join(', ');

// Every column is cast: whatever types a table of another application has, client ids are compared byte by byte. In the
// table as we create it, the unique index serves these comparisons.
const SELECT = `select ${CLIENTS.selectList} from clients`;
const IS_LISTED = `clients.${CLIENT_ID}::text = any($1::text[] collate "C")`;
const IS_GIVEN = `clients.${CLIENT_ID}::text = given.${CLIENT_ID} collate "C"`;
const IN_ORDER = `order by clients.${CLIENT_ID}::text collate "C", clients.${ID}`;
const FIND = `${SELECT} where ${IS_LISTED} ${IN_ORDER}`;

/** Updates columns of locked rows. If a client id has several rows, their old secrets identify them. */
function update(...columns: readonly string[]): string {
  return `update clients set ${columns.map((column) => `${column} = given.${column}`).join(', ')}
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) as given (${GIVEN_COLUMNS}, old_secret)
    where ${IS_GIVEN} and coalesce(clients.${CLIENT_SECRET}::text, '') = given.old_secret`;
}

/** Statements that manage the table `clients`. Parameters are arrays, one for each column. */
export const CLIENT_STATEMENTS = {
  list: `${SELECT} ${IN_ORDER}`,

  /** Parameter: client ids. */
  find: FIND,

  /** As `find`; no other transaction can change these rows until this one ends. */
  findAndLock: `${FIND} for update`,

  /** Parameters: client ids, secrets, names and scopes. Inserts the clients whose ids are free, and returns those. */
  insert: `insert into clients (${GIVEN_COLUMNS})
    select given.* from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given (${GIVEN_COLUMNS})
      where not exists (select from clients where ${IS_GIVEN}) order by given.${CLIENT_ID} collate "C"
    on conflict do nothing returning ${CLIENTS.selectList}`,

  /** Parameters of `insert`, and the secrets that the rows have. */
  changeSecret: update(CLIENT_SECRET),

  /** The same parameters. */
  replace: update(CLIENT_SECRET, CLIENT_NAME, SCOPE),

  /** Parameter: client ids. */
  remove: `delete from clients where ${IS_LISTED} returning ${CLIENTS.selectList}`,
} as const;
