import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CREATE_CLIENTS } from '../support/clients-table.ts';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

describe('DATABASE_URL_FILE', () => {
  let database: TestDatabase;
  let folder: string;
  let file: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(CREATE_CLIENTS);
    folder = await mkdtemp(join(tmpdir(), 'database-url-'));
    file = join(folder, 'url');
    await writeFile(file, `${database.url}\n`);
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  it('names the database of `npm run clients` and of a service, also for connections that it opens after the file is deleted', async () => {
    const add = ['add', 'from-file', '--name', 'From a file', '--scope', 'read', '--cost', '4', '--json'];
    await using clients = runProgram('config/clients.ts', { DATABASE_URL_FILE: file }, add);
    clients.process.stdin?.end();
    expect(await clients.ended()).toBe(0);
    const form = {
      grant_type: 'client_credentials',
      client_id: 'from-file',
      client_secret: JSON.parse(clients.stdout()).client_secret as string,
    };

    const { program, url } = await startServiceProcess({
      CLIENT_REPOSITORY: 'postgres',
      ...SEALED_KEYS,
      KEY_PUBLICATION_SECONDS: '1',
      DATABASE_URL_FILE: file,
    });
    await using _ = program;
    expect((await requestToken(url, form)).status).toBe(200);

    await rm(file);
    const others = 'datname = current_database() and pid <> pg_backend_pid()';
    await database.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`);
    expect((await requestToken(url, form)).status).toBe(200);
    await program.printed(/"event":"database_url_file_unusable","problem":"[^"]+ there is no file [^"]+"/);
    const { username, password } = new URL(database.url);
    expect(program.stdout()).not.toContain(`${username}:${password}`);
  });
});
