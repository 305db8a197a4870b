const HAS_SUBJECTS = "new.credentials -> 'federated_subjects' is not null";

const isObject = (column: string) => `check (json_valid(${column}) and json_type(${column}) = 'object')`;

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

/**
 * Every migration, in order: a file has had as many as its `user_version` says. Texts are compared byte by byte, and no id of a
 * row is used again. What authenticates a client stands in front, so that it is read without the pages of a long row. The identities of other issuers are
 * found in `client_subjects`, which triggers fill from `credentials`:
 * SQLite has no index on the entries of a list.
 */
export const MIGRATIONS: readonly { readonly name: string; readonly statements: readonly string[] }[] = [
  {
    name: '0001-clients',
    statements: [
      `create table clients (
  id integer primary key autoincrement,
  client_id text not null unique,
  client_secret text not null,
  credentials text not null default '{}' ${isObject('credentials')},
  client_name text not null,
  scope text not null,
  details text not null default '{}' ${isObject('details')}) strict`,
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
