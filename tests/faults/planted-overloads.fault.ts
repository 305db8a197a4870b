import { globSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { problemOfFault } from '../../adapters/postgres/fault-problem.ts';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { readPage } from '../support/page-snippets.ts';
import { RecordingProxy } from '../support/recording-proxy.ts';
import { runAt } from '../support/run-at.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { type Answers, runEveryProgram } from './every-program.ts';
import { namesIn, plantOverloads } from './planted-overloads.ts';

/** What every program said and sent, in its own database. */
interface Recorded {
  readonly answers: Answers;
  readonly statements: readonly string[];
  readonly errors: readonly string[];
  readonly database: TestDatabase;
}

interface Conditions {
  /** The database that is copied. */
  readonly template?: string;
  /** Changes statements on their way to the server. */
  readonly change?: (statement: string) => string;
  readonly searchPath?: string;
}

/** Statements as they were before, and others of their kind: each has a planted overload that fits better. */
const CAPTURED = [
  `select from pg_attribute where attrelid = 'pg_class'::regclass`,
  `select json_build_array('a'::text, 1::bigint, true)`,
  'select pg_advisory_xact_lock(1::int2)',
  `select * from unnest('{a}'::text[]) as name`,
  'select sum(n) from (values (1::bigint)) as counted (n) having sum(n) >= 1::bigint',
  `select from (values ('a'::varchar)) as clients (client_id) where client_id = 'a'`,
];

/** Statements of the pages for operators, and the one that the doctor prints. */
const DOCUMENTED = ['docs/runbook.md', 'docs/operate.md', 'docs/managing-clients.md']
  .flatMap((page) => [
    ...readPage(page).matchAll(/(?:psql "\$DATABASE_URL" -c |`)(['"]?)(select .*?)(?:\1(?:$|; \}$|`)|;?`)/gm),
  ])
  .concat([
    .../find it: ()(select .*?);/g[Symbol.matchAll](
      problemOfFault(Object.assign(new Error(), { code: '55P03' })).fix ?? '',
    ),
  ])
  .flatMap(([, , text = '']) => (text.includes('<') ? [] : text));

const opened: TestDatabase[] = [];
let undisturbed: Recorded;
let planted: string;
/** A role in the database with the plants. */
let reader: string;

beforeAll(async () => {
  undisturbed = await record();
  // A database that is copied has no other connection.
  const source = await openDatabase();
  planted = new URL(source.url).pathname.slice(1);
  const [attacker, other] = [await undisturbed.database.createRole(), await undisturbed.database.createRole()];
  const inPlanted = (url: string) => Object.assign(new URL(url), { pathname: planted }).href;
  reader = inPlanted(other.url);
  const statements = [...undisturbed.statements, ...CAPTURED, ...DOCUMENTED];
  await plantOverloads(inPlanted(attacker.url), await namesIn(source.url, statements));
}, 300_000);
afterAll(async () => {
  for (const database of opened.toReversed()) await database.drop();
});

/** A database in which every role may create objects, as by default up to PostgreSQL 14. */
async function openDatabase(template?: string): Promise<TestDatabase> {
  const database = await createTestDatabase({ options: template === undefined ? '' : `template ${template}` });
  opened.push(database);
  await runAt(database.url, 'grant create, usage on schema public to public');
  return database;
}

async function record({ template, change, searchPath = '"$user", public' }: Conditions = {}): Promise<Recorded> {
  const database = await openDatabase(template);
  const [owner, service] = [await database.createRole(), await database.createRole()];
  for (const { url, name } of [owner, service]) {
    await runAt(
      database.url,
      `alter role ${name} in database ${new URL(url).pathname.slice(1)} set search_path = ${searchPath}`,
    );
  }
  await using proxy = await RecordingProxy.to(database.url, change);
  const answers = await runEveryProgram({
    owner: proxy.through(owner.url),
    service: proxy.through(service.url),
    hasSent: (statement) => proxy.statements.some((text) => statement.test(text)),
    grant: (privileges) => runAt(owner.url, `grant ${privileges} to ${service.name}`),
  });
  return { answers, statements: proxy.statements, errors: proxy.errors, database };
}

/** As behind a pooler, which may run a statement in a session whose search path nobody has fixed. */
const keepSearchPath = (statement: string) => statement.replace('pg_catalog.set_config(', 'pg_catalog.concat(');

describe('the text of a statement, which the log of a server and pg_stat_activity show', () => {
  it('has no hash, secret, assertion, token, name or id, by any command or request', () => {
    expect(undisturbed.statements.length).toBeGreaterThan(100);
    const value = /\$2[aby]\$|a-secret-of|eyJ|billing|Renamed|spring|kubernetes|resource|"kty"/;
    expect(undisturbed.statements.filter((text) => value.test(text))).toEqual([]);
  });
});

describe('functions, operators, casts and types that another role plants in the search path', () => {
  it.each<[string, Conditions]>([
    [
      'are not used, even if the path names their schema before pg_catalog, which the doctor notes',
      { searchPath: 'public, pg_catalog' },
    ],
    ['are not used by a statement in a session whose search path is not fixed', { change: keepSearchPath }],
  ])(
    '%s',
    async (_name, conditions) => {
      const { answers, errors } = await record({ ...conditions, template: planted });
      expect(errors).toEqual([]);
      const isOfPath = (line: unknown) => /search_path_unsafe: /.test(String(line));
      expect(Object.values(answers).flat().filter(isOfPath)).toHaveLength(conditions.searchPath === undefined ? 0 : 3);
      const shown = Object.entries(answers).map(([name, lines]) => [name, lines.filter((line) => !isOfPath(line))]);
      expect(Object.fromEntries(shown)).toEqual(undisturbed.answers);
    },
    300_000,
  );

  it.each(CAPTURED)('would be used by: %s', async (statement) => {
    await expect(runAt(reader, statement)).rejects.toThrow(/^permission denied for function /);
  });

  it('are not used by the statements of the pages for operators', async () => {
    expect(DOCUMENTED.length).toBeGreaterThan(10);
    const { url } = await (await openDatabase(planted)).createRole();
    await migrateDatabase(url);
    for (const statement of DOCUMENTED) {
      const fault = await runAt(url, statement).catch((error: unknown) => error);
      expect([statement, fault]).toEqual([statement, expect.any(Array)]);
    }
  });
});

it('every statement calls functions by their schema, as far as the grammar allows it', async () => {
  const { functions } = await namesIn(undisturbed.database.url, undisturbed.statements);
  const calls = undisturbed.statements.flatMap((statement) => [...statement.matchAll(/(?<![.\w"])(\w+)\s*\(/g)]);
  const unqualified = new Set(calls.map(([, name = '']) => name).filter((name) => functions.includes(name)));
  // The grammar calls extract of pg_catalog.
  expect([...unqualified].toSorted()).toEqual(['extract']);
});

it('every statement that a module has as a text was sent', async () => {
  const sent = undisturbed.statements;
  const missing: string[] = [];
  for (const path of globSync('adapters/postgres/**/*.ts')) {
    const module: Record<string, unknown> = await import(`../../${path}`);
    for (const text of textsIn(Object.values(module))) {
      if (!sent.some((statement) => statement.startsWith(text))) missing.push(text);
    }
  }
  expect(missing).toEqual([]);
});

/** The statements among values, and in lists and objects of them. */
function textsIn(value: unknown, depth = 0): readonly string[] {
  if (typeof value === 'string') return /^(select|with|insert|update|delete) /.test(value) ? [value] : [];
  const isList = typeof value === 'object' && value !== null && depth < 4;
  return isList ? Object.values(value).flatMap((part) => textsIn(part, depth + 1)) : [];
}
