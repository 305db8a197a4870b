import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { PLAN_CLIENTS_MAX } from '../../application/ports/client-store.ts';
import { CLIENTS_NODE_OPTIONS, peakMemoryOf, REPORT_PEAK_MEMORY, writeClientsFile } from '../support/bulk-clients.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { runProgram } from '../support/program.ts';

/** As many as one run takes. */
const CLIENTS = PLAN_CLIENTS_MAX;
/** 400 MB, which docs/managing-clients.md says. */
const MEMORY_MAX_MIB = 381;

let server: DatabaseServer;
let folder: string;
let file: string;

beforeAll(async () => {
  server = await DatabaseServer.create();
  await migrateDatabase(server.urlOf('postgres', 'postgres'));
  folder = await mkdtemp(join(tmpdir(), 'bulk-clients-'));
  file = join(folder, 'clients.json');
  await writeClientsFile(file, CLIENTS);
}, 120_000);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

async function run(args: readonly string[]) {
  const environment = { DATABASE_URL: server.urlOf('postgres', 'postgres') };
  await using program = runProgram('config/clients.ts', environment, args, [
    ...CLIENTS_NODE_OPTIONS,
    ...REPORT_PEAK_MEMORY,
  ]);
  const exitCode = await program.ended();
  expect(peakMemoryOf(program.stderr())).toBeLessThan(MEMORY_MAX_MIB);
  return { exitCode, stderr: program.stderr(), stdout: program.stdout() };
}

const succeedsWith = (text: string) => ({ exitCode: 0, stderr: expect.stringContaining(text) });
const count = () => server.query('select count(*)::int as count from clients');

describe('fifty thousand clients in 400 MB', () => {
  it('are imported, and refused the second time with nothing changed', async () => {
    expect(await run(['import', file])).toMatchObject(succeedsWith(`${CLIENTS} added, 0 replaced.`));
    const again = await run(['import', file]);
    expect(again).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('it is registered already: --replace changes it'),
    });
    expect(await count()).toEqual([{ count: CLIENTS }]);
  }, 400_000);

  it('are exported to a file, and what is beyond them to another one', async () => {
    await server.query(
      `insert into clients (client_id, client_secret, client_name, scope) values ('~last', '*', 'A name', 'read')`,
    );
    const exported = join(folder, 'exported.json');
    expect(await run(['export', exported])).toMatchObject(succeedsWith(`${CLIENTS + 1} exported.`));
    const second = join(folder, 'exported.2.json');
    expect(JSON.parse(await readFile(exported, 'utf8'))).toHaveLength(CLIENTS);
    expect(JSON.parse(await readFile(second, 'utf8'))).toMatchObject([{ client_id: '~last' }]);
    expect((await stat(second)).mode & 0o777).toBe(0o600);
    await server.query(`delete from clients where client_id = '~last'`);
  }, 120_000);

  it('are listed as JSON', async () => {
    const { exitCode, stdout } = await run(['list', '--json']);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toHaveLength(CLIENTS);
  }, 400_000);

  it('are replaced', async () => {
    expect(await run(['import', file, '--replace'])).toMatchObject(succeedsWith(`0 added, ${CLIENTS} replaced.`));
    expect(await count()).toEqual([{ count: CLIENTS }]);
  }, 400_000);

  it('are applied: none and all of them change, and all are removed', async () => {
    const apply = (...options: readonly string[]) => run(['apply', '--yes', '-f', ...options]);
    expect(await apply(file)).toMatchObject(succeedsWith(`${CLIENTS} unchanged.`));
    expect(await apply(file, '--owner', 'team-a', '--adopt')).toMatchObject(
      succeedsWith(`0 added, ${CLIENTS} changed, 0 removed.`),
    );
    const none = join(folder, 'none.json');
    await writeFile(none, '[]');
    const removed = await apply(none, '--owner', 'team-a', '--prune', '--allow-empty');
    expect(removed).toMatchObject(succeedsWith(`0 added, 0 changed, ${CLIENTS} removed.`));
    expect(removed.stderr.match(/"action":"removed"/g)).toHaveLength(CLIENTS);
  }, 400_000);
});
