import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KEY_RING } from '../../adapters/postgres/tables.ts';
import { manageClients } from '../../config/programs/clients-program.ts';
import { inspectService } from '../../config/programs/doctor.ts';
import { manageKeys } from '../../config/programs/keys-program.ts';
import { startFromEnvironment } from '../../config/service.ts';
import { MISTAKES, type Mistake } from '../support/mistakes.ts';
import { problemsIn } from '../support/problems.ts';
import { type FinishedProgram, runInProcess } from '../support/run-in-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'mistakes-'));
afterAll(() => rmSync(folder, { recursive: true }));

const CLIENTS = join(folder, 'clients.json');
writeFileSync(CLIENTS, '[{"client_id":"a","client_secret":"{noop}s","client_name":"A","scope":"read"}]');

const BASE = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: CLIENTS,
  PORT: '0',
  MANAGEMENT_PORT: '0',
  BASE_URL: 'http://issuer.test',
};

/** Everything that the doctor prints about it, or the start, where only that finds out. */
async function messagesOf({ set = {}, files = {}, mode = 0o600 }: Mistake): Promise<string> {
  const paths = Object.entries(files).map(([name, content]) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    chmodSync(path, mode);
    return [name, path];
  });
  const environment = { ...BASE, ...set, ...Object.fromEntries(paths) };
  const { stdout, stderr } = await runInProcess(inspectService, [], environment);
  // Ports are opened at startup.
  const started = set['HOST'] === undefined ? undefined : await startFromEnvironment(environment);
  if (started?.ok) await started.value.stop('immediate');
  return [stdout, stderr, ...(started ? problemsIn(started) : [])].join('\n');
}

const COLUMNS = `(id bigint primary key, client_id text not null unique, client_secret text not null, client_name text not null,
  scope text not null)`;
const KEY_TABLES = [KEY_RING]
  .map(({ name, columns }) => `create table ${name} (${Object.values(columns).map((column) => `${column} text`)})`)
  .join(';');

let database: TestDatabase;
let role: { readonly name: string; readonly url: string };
let servers: readonly Server[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  role = await database.createRole();
}, 120_000);
afterAll(async () => {
  for (const server of servers) server.close();
  await database.drop();
});

const withPath = (pathname: string) => Object.assign(new URL(role.url), { pathname }).href;

/** The URL of a server that answers every message with a fault. */
async function refusing(code: string, message: string): Promise<string> {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from([0x45, 0, 0, 0, fields.length + 4]);
  const server = createServer((socket) => socket.once('data', () => socket.end(Buffer.concat([head, fields]))));
  servers = [...servers, server];
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `postgresql://a:b@127.0.0.1:${(server.address() as AddressInfo).port}/c`;
}

async function messages(run: Promise<FinishedProgram>): Promise<string> {
  const { stdout, stderr } = await run;
  return `${stdout}\n${stderr}`;
}

async function doctorAt(url: string | Promise<string>): Promise<string> {
  const settings = { CLIENT_REPOSITORY: 'postgres', CLIENTS_FILE: '', DATABASE_URL: await url };
  return messages(runInProcess(inspectService, [], { ...BASE, ...settings }));
}

const keysAt = (DATABASE_URL: string, args: readonly string[], more = {}) =>
  messages(runInProcess(manageKeys, args, { DATABASE_URL, ...more }));
const clientsAt = (DATABASE_URL: string, args: readonly string[], more = {}) =>
  messages(runInProcess(manageClients, args, { DATABASE_URL, ...more }));

describe('a mistake of an operator', () => {
  it.each(MISTAKES.map((mistake) => [mistake.what, mistake] as const))(
    'gets a message that names the fix: %s',
    async (_what, mistake) => {
      expect((await messagesOf(mistake)).replaceAll(/\s+/g, ' ')).toMatch(mistake.fix);
    },
  );

  const DATABASE_MISTAKES: readonly (readonly [what: string, messages: () => Promise<string>, fix: RegExp])[] = [
    [
      'a wrong password',
      () => doctorAt(refusing('28P01', 'password authentication failed')),
      /correct the password in DATABASE_URL/,
    ],
    [
      'a server that demands TLS',
      () =>
        doctorAt(refusing('28000', 'no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", no encryption')),
      /the server demands TLS .*add \?sslmode=verify-full&sslrootcert=/,
    ],
    [
      'an address that the server does not let in',
      () =>
        doctorAt(refusing('28000', 'no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", SSL encryption')),
      /pg_hba\.conf/,
    ],
    [
      'no connection left',
      () => doctorAt(refusing('53300', 'sorry, too many clients already')),
      /raise max_connections/,
    ],
    ['no database of the name', () => doctorAt(withPath('no_such_database')), /create the database/],
    [
      'TLS with a server that has none',
      () => doctorAt(`${role.url}?sslmode=require`),
      /remove sslmode from DATABASE_URL/,
    ],
    ['no table of clients', () => doctorAt(role.url), /npm run migrate -- --grant-to/],
    [
      'the table of another application',
      async () => {
        await database.query(`create table clients (id int, name text); grant select on clients to ${role.name}`);
        return doctorAt(role.url).finally(() => database.query('drop table clients'));
      },
      /that of another application, give the service its own schema or database: \?options=-c%20search_path%3D/,
    ],
    [
      'a table without a grant',
      async () => {
        await database.query(`create table clients ${COLUMNS}`);
        return doctorAt(role.url).finally(() => database.query('drop table clients'));
      },
      /npm run migrate -- --grant-to <role>/,
    ],
    ['keys without their tables', () => keysAt(role.url, ['list']), /KEY_DIRECTORY=database creates the key ring/],
    [
      'keys without a grant',
      async () => {
        await database.query(KEY_TABLES);
        return keysAt(role.url, ['list']).finally(() => database.query('drop table key_ring'));
      },
      /npm run migrate -- --grant-to <role>, with --role-for clients or --role-for keys/,
    ],
    ['keys without a database', () => keysAt('', ['list']), /set DATABASE_FILE \(SQLite\) or DATABASE_URL/],
    [
      'scopes with commas for a client',
      () => clientsAt(role.url, ['add', 'a', '--name', 'A', '--scope', 'read,write']),
      /separate scopes by spaces/,
    ],
    [
      'clients without a grant',
      async () => {
        await database.query(`create table clients ${COLUMNS}`);
        return clientsAt(role.url, ['list']).finally(() => database.query('drop table clients'));
      },
      /[Gg]rant/,
    ],
    ['clients without their table', () => clientsAt(role.url, ['list']), /npm run migrate|npm run doctor/],
  ];

  it.each(DATABASE_MISTAKES)('gets a message that names the fix: %s', async (_what, messages, fix) => {
    expect((await messages()).replaceAll(/\s+/g, ' ')).toMatch(fix);
  });
});
