import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { clientsInProcess } from '../adapters/cli/clients-program.ts';
import { CLIENTS_NODE_OPTIONS, peakMemoryOf, REPORT_PEAK_MEMORY, writeClientsFile } from '../support/bulk-clients.ts';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { REGISTERED_CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createSqliteFile, type SqliteFile } from '../support/sqlite-file.ts';
import { until } from '../support/until.ts';

/** So many that their import outgrows the cache of SQLite. */
const CLIENTS = 50_000;
/** 400 MB. */
const MEMORY_MAX_MIB = 381;

let folder: string;
let clientsFile: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sqlite-bulk-'));
  clientsFile = join(folder, 'clients.json');
  await writeClientsFile(clientsFile, CLIENTS);
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

let file: SqliteFile;
beforeEach(async () => {
  file = await createSqliteFile();
  await file.add(REGISTERED_CLIENT);
});
afterEach(() => file.remove());

function program(...args: readonly string[]) {
  return runProgram('config/clients.ts', { DATABASE_FILE: file.path }, args, [
    ...CLIENTS_NODE_OPTIONS,
    ...REPORT_PEAK_MEMORY,
  ]);
}

function rows(): unknown {
  const database = new DatabaseSync(file.path, { readOnly: true });
  const count = database.prepare('select count(*) as count from clients').get()?.['count'];
  database.close();
  return count;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

describe('fifty thousand clients in a file of SQLite', () => {
  it('are imported, refused the second time, replaced and listed, each in 400 MB', async () => {
    for (const [args, exitCode] of [
      [['import', clientsFile], 0],
      [['import', clientsFile], 1],
      [['import', clientsFile, '--replace'], 0],
      [['list', '--json'], 0],
    ] as const) {
      await using running = program(...args);
      expect(await running.ended()).toBe(exitCode);
      expect(peakMemoryOf(running.stderr())).toBeLessThan(MEMORY_MAX_MIB);
      expect(rows()).toBe(CLIENTS + 1);
    }
  }, 600_000);
});

describe('a service whose file is changed under load', () => {
  let service: ServiceProcess;
  beforeEach(async () => {
    service = await startServiceProcess({
      CLIENT_REPOSITORY: 'sqlite',
      DATABASE_FILE: file.path,
      CLIENT_SECRET_COST: '4',
    });
  });
  afterEach(async () => {
    await service.program[Symbol.asyncDispose]();
  });

  async function ask(client_id = REGISTERED_CLIENT.clientId, client_secret = REGISTERED_SECRET): Promise<number> {
    return (await requestToken(service.url, { grant_type: 'client_credentials', client_id, client_secret })).status;
  }

  /** The statuses of one client that asks again and again until `work` has ended. */
  async function during(work: () => Promise<unknown>): Promise<ReadonlySet<number>> {
    const statuses = new Set<number>();
    let isDone = false;
    const working = work().finally(() => {
      isDone = true;
    });
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!isDone) statuses.add(await ask());
      }),
    );
    await working;
    return statuses;
  }

  it('answers all the time while an import is killed in the middle, of which all or nothing is stored', async () => {
    const statuses = await during(async () => {
      for (let attempt = 0; attempt < 3; attempt += 1) {
        await using running = program('import', clientsFile, '--replace');
        // The transaction has begun, and has outgrown the memory of its program. It may have ended since.
        await until(() => sizeOf(`${file.path}-wal`) > 100_000, 'a part of the import');
        running.process.kill('SIGKILL');
        await running.ended();
        expect([1, CLIENTS + 1]).toContain(rows());
      }
    });
    expect(statuses).toEqual(new Set([200]));
    await using running = program('import', clientsFile, '--replace');
    expect(await running.ended()).toBe(0);
    expect(await ask('client-1')).toBe(200);
    expect(rows()).toBe(CLIENTS + 1);
  }, 400_000);

  it('sees each of fifty changes at the next request', async () => {
    const clients = clientsInProcess('', { DATABASE_FILE: file.path });
    const other = 'changed';
    await file.add({ ...REGISTERED_CLIENT, clientId: other });
    const statuses = await during(async () => {
      for (let change = 0; change < 25; change += 1) {
        for (const [command, expected] of [
          ['disable', 401],
          ['enable', 200],
        ] as const) {
          expect((await clients([command, other])).exitCode).toBe(0);
          const answers = await Promise.all(Array.from({ length: 4 }, () => ask(other)));
          expect(new Set(answers)).toEqual(new Set([expected]));
        }
      }
    });
    expect(statuses).toEqual(new Set([200]));
  }, 120_000);

  it('is not hindered by a program that holds the lock, for which another one waits in vain', async () => {
    const holder = new DatabaseSync(file.path);
    holder.exec('begin immediate');
    const statuses = await during(async () => {
      await using waiting = program('disable', REGISTERED_CLIENT.clientId);
      expect(await waiting.ended()).toBe(3);
      expect(waiting.stderr()).toMatch(/is locked by another program/);
    });
    holder.close();
    expect(statuses).toEqual(new Set([200]));
  }, 60_000);
});
