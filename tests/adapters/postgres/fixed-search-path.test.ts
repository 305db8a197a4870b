import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { fixSearchPath, type SearchPath } from '../../../adapters/postgres/search-path.ts';

/** A connection to a server whose response has this row, and what it has sent. */
async function connection(row: Readonly<Record<string, string | null>> | undefined, known?: SearchPath) {
  const client = new pg.Client();
  const sent: Readonly<Record<string, unknown>>[] = [];
  client.query = ((statement: Readonly<Record<string, unknown>>) => {
    sent.push(statement);
    return { rows: row === undefined ? [] : [row] };
  }) as unknown as typeof client.query;
  return { found: await fixSearchPath(client, 700, known), sent };
}

describe('a new connection', () => {
  it('reads the search path and replaces it, in one statement and within the limit', async () => {
    const { found, sent } = await connection({ setting: 'app, public', schemas: '["app"]', safe: 'app, pg_temp' });
    expect(found).toEqual({ schemas: ['app'], names: ['app', 'public'], safe: 'app, pg_temp' });
    expect(sent).toMatchObject([{ query_timeout: 700 }]);
  });

  it('gets the path of those before it', async () => {
    const known = { schemas: ['app'], names: ['$user', 'app'], safe: 'app, pg_temp' };
    const { found, sent } = await connection(undefined, known);
    expect(found).toBe(known);
    expect(sent).toMatchObject([{ values: ['app, pg_temp'], query_timeout: 700 }]);
  });

  it('looks again while there is no schema', async () => {
    const known = { schemas: [], names: ['app'], safe: 'pg_temp' };
    const row = { setting: 'app', schemas: '["app"]', safe: 'app, pg_temp' };
    expect((await connection(row, known)).found.schemas).toEqual(['app']);
    expect((await connection({ ...row, schemas: null })).found.schemas).toEqual([]);
  });

  it.each([
    ['"$user", public', ['$user', 'public']],
    ['App,"My ""App", b', ['app', 'My "App', 'b']],
    ['""', []],
    ['public, pg_temp', ['public']],
  ])('knows the names in the setting %s', async (setting, names) => {
    expect((await connection({ setting, schemas: '[]', safe: '' })).found.names).toEqual(names);
  });
});
