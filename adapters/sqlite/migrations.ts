import type { TableName } from '../sql/entities.ts';

const HAS_SUBJECTS = "new.credentials -> 'federated_subjects' is not null";

/** An entry without both texts is ignored, since neither may be null. */
const subjectTrigger = (
  change: string,
  condition: string,
) => `create trigger client_subjects_after_${change.split(' ')[0]}
  after ${change} on clients when ${condition} begin
  delete from client_subjects where row_id = new.id;
  insert or ignore into client_subjects (issuer, subject, row_id) select
    case when type = 'object' then value ->> 'issuer' end, case when type = 'object' then value ->> 'subject' end, new.id
    from json_each(new.credentials, '$.federated_subjects');
end`;

interface Migration {
  readonly name: string;
  /** Loads MikroORM where it creates tables, so only then. */
  statements(): Promise<readonly string[]>;
}

/** The statements that create tables. */
export async function creationOfTables(...tables: readonly TableName[]): Promise<readonly string[]> {
  const [{ creationOf }, { SqliteDriver }] = await Promise.all([
    import('../sql/create-tables.ts'),
    import('@mikro-orm/sql'),
  ]);
  return creationOf('sqlite', SqliteDriver, ...tables);
}

/**
 * Every migration, in order: a file has had as many as its `user_version` says. The identities of other issuers are
 * found in `client_subjects`, which triggers fill from `credentials`: SQLite has no index on the entries of a list.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0001-clients',
    statements: async () => [
      ...(await creationOfTables('clients')),
      `create table client_subjects (
  issuer text not null,
  subject text not null,
  row_id integer not null references clients (id) on delete cascade,
  primary key (issuer, subject, row_id)) without rowid`,
      'create index client_subjects_row on client_subjects (row_id)',
      subjectTrigger('insert', HAS_SUBJECTS),
      subjectTrigger('update of credentials', `${HAS_SUBJECTS} or ${HAS_SUBJECTS.replace('new', 'old')}`),
    ],
  },
];
