import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import bcrypt from 'bcrypt';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { migrateFile } from '../../../adapters/sqlite/migrate-file.ts';
import { compactJws, generateSigningKey } from '../../../tests/support/assertions.ts';
import { type AssertionUse, assertionFields } from '../../../tests/support/forged-assertion.ts';
import { runProgram } from '../../../tests/support/program.ts';
import { postgresEnvironment, startBenchDatabaseServer } from '../bench-database.ts';
import { startStored } from '../candidates.ts';
import type { Options, Storage } from '../command-line.ts';
import { RawConnection } from '../raw-connection.ts';
import { temporaryFolder, writeClientsFile } from '../registrations.ts';
import { conditions, print, say, sum, table } from '../report.ts';
import { secretRequest, tokenRequest } from '../token-requests.ts';

/** Registered clients of each kind, and as many unknown ids as registered ones. */
const CLIENTS_PER_KIND = 40;

/** A connection gets at most 20 refusals a second without a delay. */
const CONNECTIONS = 160;

/** Rounds that are not counted: the service compiles its code meanwhile. */
const WARM_UP_ROUNDS = 5;

/**
 * What shows nobody anything: the area under the ROC curve, and the registered ones among the fastest and the slowest
 * fifth of the ids.
 */
const AREA = { least: 0.4, most: 0.6 };
const AMONG_A_TENTH = { least: 10, most: 30 };
const EXTREMES = 40;

const AUDIENCE = 'http://issuer.test';
const COST = 4;

/** Each is 24 characters long, so that all requests of a path are. */
const idOf = (kind: string, number: number) => `${kind.padEnd(20, '-')}${String(1_000 + number)}`;

const KEYS = Array.from({ length: 10 }, (_, number) => {
  return { ...generateSigningKey('ES256').jwk, kid: `key-${number}`, alg: 'ES256' };
});
const STRANGER = generateSigningKey('ES256');

/** What each kind has beside a secret. */
async function kinds() {
  const client_secret = await bcrypt.hash(randomBytes(24).toString('base64url'), COST);
  const subject = (number: number) => ({
    issuer: 'https://platform.example',
    subject: `workload-${number}`,
    claims: {},
  });
  return {
    plain: { client_secret },
    'ten keys': { client_secret, jwks: { keys: KEYS } },
    'long credentials': {
      client_secret,
      secrets: [{ secret_id: 'an-id', name: 'a name', client_secret }],
      federated_subjects: Array.from({ length: 50 }, (_, number) => subject(number)),
    },
    'long names': { client_secret, client_name: 'A name '.repeat(1_000), scope: 'a-scope '.repeat(1_000).trim() },
    locked: { client_secret: `!${client_secret}` },
  };
}

/** The requests of each way to be refused. */
const PATHS = {
  secret: (id: string) => secretRequest(id, randomBytes(24).toString('base64url')),
  'secret with an id': (id: string) => secretRequest(id, `an-id.${randomBytes(24).toString('base64url')}`),
  assertion: (id: string) => assertionRequest(id, { alg: 'ES256' }),
  'assertion with a kid': (id: string) => assertionRequest(id, { alg: 'ES256', kid: 'key-7' }),
  'grant jwt-bearer': (id: string) => assertionRequest(id, { alg: 'ES256', kid: 'key-7' }, 'grant'),
};

function assertionRequest(sub: string, header: object, use: AssertionUse = 'client'): string {
  const exp = Math.floor(Date.now() / 1_000) + 200;
  const claims = { iss: sub, sub, aud: AUDIENCE, exp, jti: randomBytes(12).toString('hex') };
  const assertion = compactJws(header, claims, STRANGER.seal);
  return tokenRequest(new URLSearchParams(assertionFields(assertion, use)).toString());
}

/**
 * `npm run bench -- identify`: whether the times of refusals tell which of many ids are registered. Returns whether
 * they tell nothing, or with a planted difference, whether that is found.
 */
export async function runIdentify(options: Options<'identify'>, opened: AsyncDisposableStack): Promise<boolean> {
  print(conditions());
  const rows = [];
  for (const storage of options.storage) {
    for (const size of options.kinds) {
      await using running = new AsyncDisposableStack();
      opened.defer(() => running.disposeAsync());
      const registered = await clientsOf(size);
      const { port } = await start(storage, registered, options.plant, running);
      const ids = registered.map(({ client_id }) => client_id);
      for (const [path, requestFor] of Object.entries(PATHS)) {
        say(`${storage}, ${ids.length} clients, ${path} …`);
        const unknown = Array.from({ length: Math.max(ids.length, EXTREMES) }, (_, number) => idOf('nobody', number));
        const times = await measure(port, [...ids, ...unknown], requestFor, options.n);
        rows.push({ storage, clients: ids.length, path, ...figures(times, new Set(ids)) });
      }
    }
  }
  print(
    table(rows, [
      ['storage', (row) => row.storage],
      ['clients', (row) => row.clients],
      ['refused', (row) => row.path],
      ['area', (row) => row.area, 2],
      [`registered among ${EXTREMES} slowest`, (row) => row.slowest],
      [`among ${EXTREMES} fastest`, (row) => row.fastest],
      ['difference, µs', (row) => row.difference, 1],
      ['', (row) => (row.tells ? 'tells' : 'tells nothing')],
    ]),
  );
  return rows.every(({ tells }) => tells === options.plant > 0);
}

/** @param count clients of each kind: 40 of all, or 1 of the first ones. */
async function clientsOf(size: number) {
  const all = Object.entries(await kinds());
  const each = size === all.length ? CLIENTS_PER_KIND : 1;
  return all.slice(0, size).flatMap(([kind, more]) =>
    Array.from({ length: each }, (_, number) => ({
      client_id: idOf(kind.replace(' ', '-'), number),
      client_name: 'A client',
      scope: 'read write',
      ...more,
    })),
  );
}

async function start(
  storage: Storage,
  clients: Awaited<ReturnType<typeof clientsOf>>,
  plant: number,
  opened: AsyncDisposableStack,
) {
  const file = await writeClientsFile(clients, opened);
  const environment = {
    CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
    CLIENT_FAILURES_PER_MINUTE: '0',
    GRANT_TYPES: 'client_credentials,jwt-bearer',
    CLIENT_SECRET_COST: String(COST),
    TOKEN_ISSUER: AUDIENCE,
  };
  const delayed = `plant-for-registered.ts?microseconds=${plant}&prefixes=${clients.map(({ client_id }) => client_id.slice(0, 4)).join()}`;
  const flags = plant > 0 ? ['--import', new URL(delayed, import.meta.url).href] : [];
  const settings = await settingsOf(storage, file, opened);
  return startStored(storage, settings, { environment, flags }, opened);
}

/** Imports the clients where a program does that. */
async function settingsOf(storage: Storage, clientsFile: string, opened: AsyncDisposableStack) {
  if (storage === 'memory') return { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: clientsFile };
  const importInto = async (environment: Readonly<Record<string, string>>) => {
    await using program = runProgram('config/clients.ts', environment, ['import', clientsFile]);
    if ((await program.ended()) !== 0) throw new Error(program.stderr());
  };
  if (storage === 'sqlite') {
    const DATABASE_FILE = join(await temporaryFolder(opened), 'clients.sqlite');
    await migrateFile(DATABASE_FILE);
    await importInto({ DATABASE_FILE });
    return { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE };
  }
  const { url } = await (await startBenchDatabaseServer(opened)).create();
  await migrateDatabase(url);
  await importInto({ DATABASE_URL: url });
  return postgresEnvironment(url);
}

/** Microseconds of each id, one request after another, all ids in another order each round. */
async function measure(port: number, ids: readonly string[], requestFor: (id: string) => string, count: number) {
  const connections = Array.from({ length: CONNECTIONS }, () => new RawConnection(port));
  const times = new Map<string, number[]>(ids.map((id) => [id, []]));
  try {
    let sent = 0;
    for (let round = -WARM_UP_ROUNDS; round < count; round += 1) {
      for (const id of shuffled(ids)) {
        const connection = connections[sent % CONNECTIONS] as RawConnection;
        sent += 1;
        await connection.open();
        const { status, microseconds } = await connection.send(requestFor(id));
        if (status !== 401 && status !== 400) throw new Error(`a refusal with ${status}`);
        if (round >= 0) times.get(id)?.push(microseconds);
      }
    }
  } finally {
    for (const connection of connections) connection[Symbol.dispose]();
  }
  return times;
}

function figures(times: ReadonlyMap<string, readonly number[]>, registered: ReadonlySet<string>) {
  const means = [...times].map(([id, all]) => {
    const faster = all.toSorted((one, other) => one - other).slice(0, Math.ceil(all.length / 2));
    return { isRegistered: registered.has(id), mean: sum(faster) / faster.length };
  });
  const ascending = means.toSorted((one, other) => one.mean - other.mean);
  const registeredIn = (part: typeof means) => part.filter(({ isRegistered }) => isRegistered).length;
  const [known, unknown] = [true, false].map((is) => means.filter(({ isRegistered }) => isRegistered === is));
  const pairs = (known ?? []).flatMap((one) => (unknown ?? []).map((other) => Math.sign(one.mean - other.mean)));
  const area = 0.5 + sum(pairs) / (2 * pairs.length);
  const meanOf = (part: typeof means = []) => sum(part.map(({ mean }) => mean)) / part.length;
  const [fastest, slowest] = [registeredIn(ascending.slice(0, EXTREMES)), registeredIn(ascending.slice(-EXTREMES))];
  const isWithin = (value: number, { least, most }: typeof AREA) => value >= least && value <= most;
  // Of one or two clients, the area is coarse: there is only chance.
  const isFew = registered.size < EXTREMES;
  const tells = isFew
    ? isExtreme(ascending.map(({ isRegistered }) => isRegistered))
    : !isWithin(area, AREA) || !isWithin(fastest, AMONG_A_TENTH) || !isWithin(slowest, AMONG_A_TENTH);
  return { area, fastest, slowest, difference: meanOf(known) - meanOf(unknown), tells };
}

/** Whether all of a few registered ones are at one end. */
function isExtreme(ascending: readonly boolean[]): boolean {
  const count = ascending.filter(Boolean).length;
  return [ascending.slice(0, count), ascending.slice(-count)].some((part) => part.every(Boolean));
}

function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => [Math.random(), item] as const)
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item);
}
