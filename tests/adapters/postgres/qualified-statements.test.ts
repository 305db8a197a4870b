import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  findTable,
  fixSearchPath,
  type ShadowedTable,
  type TablePlaces,
} from '../../../adapters/postgres/search-path.ts';

interface Sent {
  readonly text: string;
  readonly [option: string]: unknown;
}

/** A connection to a server whose search path has these schemas, which finds these tables, and what it has sent. */
async function connection(
  path: readonly string[] | undefined,
  schemas: Readonly<Record<string, string | readonly string[]>> | null,
  { places = new Map(), setting = '' }: { readonly places?: TablePlaces; readonly setting?: string } = {},
) {
  const client = new pg.Client();
  const sent: unknown[][] = [];
  const lists = Object.entries(schemas ?? {}).map(([table, names]) => [table, [names].flat()]);
  const tables = schemas && JSON.stringify(Object.fromEntries(lists));
  const row = { path: JSON.stringify(path), setting, tables };
  const answers: unknown[] = [[{ rows: [] }, { rows: path === undefined ? [] : [row] }, { rows: [] }]];
  client.query = ((...args: unknown[]) => {
    sent.push(args);
    return answers.shift() ?? 'the answer';
  }) as unknown as typeof client.query;
  const shadowed: ShadowedTable[] = [];
  const found = await fixSearchPath(client, 700, places, (table) => shadowed.push(table));
  const [[fix] = []] = sent.splice(0) as Sent[][];
  return { client, sent, found, fix, shadowed };
}

describe('a new connection', () => {
  it('resets and reads the search path, and fixes it, in one text and within the limit', async () => {
    const { found, fix } = await connection(['app', 'public'], null);
    expect(found).toMatchObject({ schemas: ['app', 'public'], names: [] });
    expect(fix).toMatchObject({ query_timeout: 700 });
    expect(fix?.text).toMatch(/^reset search_path;\s+select [^;]+;\s+set search_path = pg_catalog, pg_temp$/);
  });

  it.each([
    ['"$user", public', ['$user', 'public']],
    ['App,"My ""App", b', ['app', 'My "App', 'b']],
    ['""', []],
  ])('knows the names in the setting %s', async (setting, names) => {
    expect((await connection([], null, { setting })).found.names).toEqual(names);
  });

  it('names a table where the connections before it found it, and says once where it found another', async () => {
    const places: TablePlaces = new Map();
    await connection(['public'], { clients: 'public' }, { places });
    for (const shadows of [[{ table: 'clients', schema: 'public', found: 'svc' }], []]) {
      const later = await connection(['svc', 'public'], { clients: ['svc', 'public'] }, { places });
      await later.client.query('select from $schema.clients');
      expect(later.sent).toEqual([['select from public.clients']]);
      expect(later.shadowed).toEqual(shadows);
    }
  });

  it('names a table where it is found now if it is no longer where it was', async () => {
    const places: TablePlaces = new Map();
    await connection(['public'], { clients: 'public' }, { places });
    const { client, sent, shadowed } = await connection(['app', 'public'], { clients: ['app'] }, { places });
    await client.query('select from $schema.clients');
    expect(sent).toEqual([['select from app.clients']]);
    expect(shadowed).toEqual([]);
  });

  it('asks for every table of the service', async () => {
    const { fix } = await connection(['public'], null);
    expect(
      /'\{([a-z_,]+)\}'/
        .exec(fix?.text ?? '')?.[1]
        ?.split(',')
        .toSorted(),
    ).toEqual([
      'client_credentials_migrations',
      'client_keys',
      'client_resources',
      'client_secrets',
      'client_subjects',
      'clients',
      'key_ring',
      'used_assertions',
    ]);
  });

  it.each([
    ['where the search path has found it', ['app'], { clients: '"My App"' }, '"My App".clients'],
    [
      'in the first schema of the path if it is missing',
      ['My "App', 'public'],
      { key_ring: 'public' },
      '"My ""App".clients',
    ],
    ['in the first schema of the path if none is there', ['app'], null, '"app".clients'],
    ['where nobody can create it if the path is empty', [], null, '"pg_catalog".clients'],
    ['where nobody can create it if the server says nothing', undefined, null, '"pg_catalog".clients'],
  ])('names a table %s', async (_where, path, schemas, name) => {
    const { client, sent } = await connection(path, schemas);
    await client.query('select from $schema.clients');
    expect(sent).toEqual([[`select from ${name}`]]);
  });

  it('qualifies every table of a text, those in literals as literals, and passes everything else on', async () => {
    const { client, sent } = await connection(["o'app"], { client_keys: 'k' });
    const values = ['$schema.clients'];
    const text = `select '$schema.clients'::regclass, '$schema' from $schema.client_keys, $schema.clients`;
    const qualified = `select '"o''app".clients'::regclass, '$schema' from k.client_keys, "o'app".clients`;
    const answer: unknown = await client.query({ text, values });
    expect(answer).toBe('the answer');
    await client.query(text, values);
    expect(sent).toEqual([[{ text: qualified, values }], [qualified, values]]);
  });

  it('sends a statement with a name always with the text of the first time', async () => {
    const { client, sent } = await connection(['app'], null);
    await client.query({ name: 'one', text: 'select 1 from $schema.clients' });
    await client.query({ name: 'one', text: 'select 1 from $schema.clients' });
    await client.query({ name: 'other', text: 'select 2 from $schema.clients' });
    expect(sent).toEqual([
      [{ name: 'one', text: 'select 1 from "app".clients' }],
      [{ name: 'one', text: 'select 1 from "app".clients' }],
      [{ name: 'other', text: 'select 2 from "app".clients' }],
    ]);
  });

  it('refuses a statement on a table that is not of the service', async () => {
    const { client, sent } = await connection(['app'], null);
    expect(() => client.query('select from $schema.pg_authid')).toThrow('pg_authid is not a table of the service');
    expect(sent).toEqual([]);
  });

  it('looks for a table by its qualified name', async () => {
    const { client, sent } = await connection(['app'], null);
    await client.query(findTable('clients'));
    expect(String(sent[0])).toContain(`pg_catalog.to_regclass('"app".clients') is not null as "exists"`);
  });
});
