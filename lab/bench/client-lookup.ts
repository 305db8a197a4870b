import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { lookUpStatements } from '../../adapters/postgres/look-up-statements.ts';
import { clientRows } from '../../adapters/postgres/postgres-client-rows.ts';
import { openTable } from '../../adapters/postgres/table.ts';
import { CLIENTS } from '../../adapters/postgres/tables.ts';
import { decoyPicker } from '../../adapters/secrets/decoy-picker.ts';
import { entitiesFor } from '../../adapters/sql/entities.ts';
import { SqlClientRepository } from '../../adapters/sql/sql-client-repository.ts';
import { SystemClock } from '../../adapters/system/system.ts';
import { DatabaseServer } from '../../tests/support/database-server.ts';
import { figure, median } from './report.ts';

/** `npm run bench:look-ups`: the cost of one look-up, by method and by size of the table. */
const ROUNDS = 5;
const LOOKUPS = 3_000;
const POOL_SIZE = 8;
const HASH = '$2b$10$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy';

const { clients: CLIENT } = entitiesFor('postgresql');

type Find = (clientId: string) => Promise<unknown>;

const server = await DatabaseServer.create();
const url = server.urlOf('postgres', 'postgres');
const options = { url, poolSize: POOL_SIZE, deadlineMs: 5_000 };
const table = await openTable('client repository', CLIENTS, options, () => {});
const repository = new SqlClientRepository({
  rows: clientRows(table),
  log: () => {},
  clock: new SystemClock(),
  pickDecoy: decoyPicker(new Uint8Array(32)),
});
const orm = new MikroORM({
  entities: [CLIENT],
  dbName: 'postgres',
  ensureDatabase: false,
  pool: { max: POOL_SIZE },
  driverOptions: { connectionString: url },
});
const { findClients: FIND_CLIENTS } = lookUpStatements(true);
const pool = new pg.Pool({ connectionString: url, max: POOL_SIZE });

const METHODS: Readonly<Record<string, Find>> = {
  'pg, unprepared statement': (id) => pool.query({ text: FIND_CLIENTS.text, values: [[id]] }),
  'pg, prepared statement': (id) => pool.query({ ...FIND_CLIENTS, values: [[id]] }),
  'this repository': (id) => repository.findByClientId(id),
  'MikroORM connection.execute': (id) =>
    orm.em.getConnection().execute(FIND_CLIENTS.text.replace('$1', '?'), [`{${id}}`]),
  'MikroORM em.fork().findOne': (id) => orm.em.fork().findOne(CLIENT, { client_id: id }),
};

for (const size of [100, 1_000_000]) {
  await server.query('truncate clients');
  await server.query(
    `insert into clients (client_id, client_secret, client_name, scope)
      select 'client-' || n, $1, 'Client ' || n, 'read write' from generate_series(1, $2::int) n`,
    [HASH, size],
  );
  await server.query('vacuum analyze clients');
  for (const concurrency of [1, POOL_SIZE]) {
    process.stdout.write(
      `\n${size} registrations, ${concurrency} concurrent look-ups: µs per look-up, µs of this process's CPU\n`,
    );
    for (const [method, find] of Object.entries(METHODS)) {
      await measure(find, size, concurrency);
      const rounds: { elapsed: number; cpu: number }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure(find, size, concurrency));
      process.stdout.write(
        `  ${method.padEnd(30)} ${cell(rounds.map(({ elapsed }) => elapsed))} ${cell(rounds.map(({ cpu }) => cpu))}\n`,
      );
    }
  }
}
await orm.close();
await pool.end();
await table.close();
await server.stop();

/** Microseconds per look-up of random clients: elapsed time and CPU time of this process. */
async function measure(find: Find, size: number, concurrency: number): Promise<{ elapsed: number; cpu: number }> {
  const cpuBegin = process.cpuUsage();
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let n = 0; n < LOOKUPS / concurrency; n += 1) await find(`client-${1 + Math.floor(Math.random() * size)}`);
    }),
  );
  const elapsed = ((performance.now() - begin) * 1_000) / LOOKUPS;
  const { user, system } = process.cpuUsage(cpuBegin);
  return { elapsed, cpu: (user + system) / LOOKUPS };
}

function cell(values: readonly number[]): string {
  return figure(median(values)).padStart(6);
}
