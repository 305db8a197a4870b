import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { CLIENTS_NODE_OPTIONS, peakMemoryOf, REPORT_PEAK_MEMORY, writeClientsFile } from '../support/bulk-clients.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { runProgram } from '../support/program.ts';

const CLIENTS = 1_000_000;
const MEMORY_MAX_MIB = 286; // 300 MB

let server: DatabaseServer;
let folder: string;
let file: string;

beforeAll(async () => {
  server = await DatabaseServer.create();
  // With the tables of details, which `list` reads.
  await migrateDatabase(server.urlOf('postgres', 'postgres'));
  folder = await mkdtemp(join(tmpdir(), 'bulk-clients-'));
  file = join(folder, 'clients.json');
  await writeClientsFile(file, CLIENTS);
}, 120_000);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

/** Runs the program as `npm run clients` does, and checks its memory. The time is only reported. */
async function run(...args: readonly string[]) {
  const environment = { DATABASE_URL: server.urlOf('postgres', 'postgres') };
  const nodeArgs = [...CLIENTS_NODE_OPTIONS, ...REPORT_PEAK_MEMORY];
  const begin = performance.now();
  await using program = runProgram('config/clients.ts', environment, args, nodeArgs);
  const exitCode = await program.ended();
  const seconds = (performance.now() - begin) / 1_000;
  const peak = peakMemoryOf(program.stderr());
  process.stdout.write(`${args[0]} ${args.slice(2).join(' ')}: ${seconds.toFixed(1)} s, ${peak.toFixed(0)} MiB\n`);
  expect(peak).toBeLessThan(MEMORY_MAX_MIB);
  return { exitCode, stderr: program.stderr(), stdout: program.stdout() };
}

describe('a million clients', () => {
  it('are imported in 300 MB, and refused the second time with nothing changed', async () => {
    const imported = await run('import', file);
    expect(imported.stderr).toContain(`${CLIENTS} added, 0 replaced.`);
    expect(imported.exitCode).toBe(0);
    const again = await run('import', file);
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toContain('entry 0: client_id is registered already');
    expect(await server.query('select count(*)::int as count from clients')).toEqual([{ count: CLIENTS }]);
  }, 400_000);

  it('are listed as JSON in 300 MB', async () => {
    const { exitCode, stdout } = await run('list', '--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toHaveLength(CLIENTS);
  }, 400_000);

  it('are replaced in 300 MB', async () => {
    const { exitCode, stderr } = await run('import', file, '--replace');
    expect(stderr).toContain(`0 added, ${CLIENTS} replaced.`);
    expect(exitCode).toBe(0);
  }, 400_000);

  it('are applied in 300 MB: none and all of them change, and all are removed', async () => {
    const apply = (...options: readonly string[]) => run('apply', '-f', file, '--yes', ...options);
    expect(await apply()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(`${CLIENTS} unchanged.`) });
    expect(await apply('--owner', 'team-a', '--adopt')).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`0 added, ${CLIENTS} changed, 0 removed.`),
    });
    const none = join(folder, 'none.json');
    await writeFile(none, '[]');
    const removed = await run('apply', '-f', none, '--yes', '--owner', 'team-a', '--prune');
    expect(removed).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`0 added, 0 changed, ${CLIENTS} removed.`),
    });
    expect(removed.stderr.match(/"action":"removed"/g)).toHaveLength(CLIENTS);
  }, 900_000);
});

describe('30,000 clients', () => {
  it('are imported, listed and replaced in a heap of 32 MiB', async () => {
    await server.query('truncate clients');
    const small = join(folder, 'small.json');
    await writeClientsFile(small, 30_000);
    const heap = ['--max-old-space-size=32', '--max-semi-space-size=1'];
    const environment = { DATABASE_URL: server.urlOf('postgres', 'postgres') };
    const runSmall = async (...args: readonly string[]) => {
      await using program = runProgram('config/clients.ts', environment, args, heap);
      return { exitCode: await program.ended(), stderr: program.stderr(), stdout: program.stdout() };
    };
    const added = { exitCode: 0, stderr: expect.stringMatching(/^30000 added, 0 replaced\.$/m) };
    expect(await runSmall('import', small)).toMatchObject(added);
    expect(JSON.parse((await runSmall('list', '--json')).stdout)).toHaveLength(30_000);
    expect((await runSmall('import', small)).exitCode).toBe(1);
    const replaced = { exitCode: 0, stderr: expect.stringMatching(/^0 added, 30000 replaced\.$/m) };
    expect(await runSmall('import', small, '--replace')).toMatchObject(replaced);
    expect(await server.query('select count(*)::int as count from clients')).toEqual([{ count: 30_000 }]);
  }, 400_000);
});
