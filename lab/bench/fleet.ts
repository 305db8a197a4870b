import { readFile } from 'node:fs/promises';
import { CertificateAuthority } from '../../tests/support/certificates.ts';
import { readSamples, total } from '../../tests/support/read-samples.ts';
import { startBenchDatabaseServer } from './bench-database.ts';
import { type Candidate, startInMemory, startOnPostgres, startOnSqlite, startPeer } from './candidates.ts';
import type { Options } from './command-line.ts';
import { RawConnection } from './raw-connection.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from './registrations.ts';
import { conditions, figure, percentile, print, printVerdicts, say, table } from './report.ts';
import { measureRsaLimit } from './rsa-limit.ts';
import { TlsConnection } from './tls-connection.ts';
import { secretRequest } from './token-requests.ts';

/** The BCrypt cost of a secret that `npm run clients` generates. */
const GENERATED_COST = 4;

/** Clients with hashes of cost 10: a minute of BCrypt on one core. */
const EXPENSIVE_CLIENTS = 1_000;

/** A well-behaved client renews its token in this part of its lifetime. */
const RENEWAL = { from: 0.8, to: 1 };

const OURS = 'this service';

const LIFETIMES = 3;
const RSA_SECONDS = 2;

/** Answers to one token request of each client, or of some clients in a time. */
interface Answers {
  readonly tokens: number;
  readonly failures: number;
  readonly seconds: number;
  readonly p99Ms: number;
}

type Connection = Disposable & Pick<RawConnection, 'statusOf'>;

interface FleetPlan {
  readonly clients: number;
  readonly connections: number;
  /** 0 measures no lifetimes. */
  readonly lifetimeSeconds: number;
  /** What sends requests; keep-alive connections without TLS by default. */
  readonly open?: (port: number) => Connection;
}

interface FleetRow extends FleetPlan {
  readonly name: string;
  /** The first request of each client after startup, its second one, and as many of one client. */
  readonly cold: Answers;
  readonly warm: Answers;
  readonly hot: Answers;
  /** Renewals over some lifetimes, with the hashes of a token; absent if the fleet is not driven for so long. */
  readonly steady?: Answers & { readonly hashesPerToken: number };
}

/**
 * `npm run bench -- fleet`: many clients that each ask for a token now and then, and not a few that ask all the time.
 * Returns whether every request got a token where connections and cost allow it.
 */
export async function runFleet(options: Options<'fleet'>, opened: AsyncDisposableStack): Promise<boolean> {
  const rsaLimit = await measureRsaLimit(RSA_SECONDS);
  const { part: parts, clients, connections, lifetime } = options;
  const cheap = registrations('client', clients, await hashedSecret(GENERATED_COST));
  const expensive = registrations('client', EXPENSIVE_CLIENTS, await hashedSecret(RECOMMENDED_COST));
  const rows: FleetRow[] = [];
  // One after another: an idle server with timers takes time from the measured one.
  const add = async (plan: FleetPlan, start: (running: AsyncDisposableStack) => Promise<Candidate>) => {
    await using running = new AsyncDisposableStack();
    const candidate = await start(running);
    say(`${candidate.name}, ${plan.connections} connections …`);
    rows.push(await measureFleet(candidate, plan));
  };
  const usual: FleetPlan = { clients, connections, lifetimeSeconds: lifetime };
  const brief: FleetPlan = { clients: EXPENSIVE_CLIENTS, connections: 16, lifetimeSeconds: 0 };
  if (parts.includes('storages')) {
    const databases = await startBenchDatabaseServer(opened);
    const database = await databases.create();
    await add(usual, (own) => startInMemory(`${OURS}, memory`, cheap, own));
    await add(usual, (own) => startOnSqlite(`${OURS}, SQLite`, cheap, own));
    await add(usual, (own) => startOnPostgres(`${OURS}, PostgreSQL`, database, cheap, own));
  }
  if (parts.includes('expensive')) {
    const name = `${OURS}, memory, cost ${RECOMMENDED_COST}`;
    await add(brief, (own) => startInMemory(name, expensive, own));
    await add({ ...brief, connections: 256 }, (own) => startInMemory(name, expensive, own));
  }
  if (parts.includes('tls')) {
    using authority = new CertificateAuthority();
    const pem = await readFile(authority.file, 'utf8');
    for (const [keyType, certificates] of [
      ['rsa', 'RSA'],
      ['ec', 'ECDSA'],
    ] as const) {
      const { certificate, key } = authority.issue('IP:127.0.0.1', keyType);
      const environment = { TLS_CERT_FILE: certificate, TLS_KEY_FILE: key, BASE_URL: 'https://127.0.0.1' };
      const name = `${OURS}, memory, a new TLS connection for each token, ${certificates} certificate`;
      const open = (port: number) => new TlsConnection(port, pem);
      await add({ ...brief, open }, (own) => startInMemory(name, cheap, own, { environment }));
    }
  }
  if (parts.includes('peers')) {
    const plain = registrations('client', clients, `{noop}${SECRET}`);
    const peer = 'oidc-provider, one process per core, secrets in clear';
    await add(usual, (own) => startPeer(peer, 'oidc-provider.mjs', plain, own));
    const model = `@node-oauth/oauth2-server, BCrypt of cost ${RECOMMENDED_COST}`;
    await add(brief, (own) => startPeer(model, 'node-oauth2-server.mjs', expensive, own));
  }

  print(
    conditions(
      `RSA limit: ${figure(rsaLimit)} signatures/s`,
      `Lifetime of a token: ${lifetime} s, driven ${LIFETIMES} times`,
    ),
  );
  const perSecond = ({ tokens, seconds }: Answers) => tokens / seconds;
  print(
    table(rows, [
      ['fleet', ({ name }) => name],
      ['clients', (row) => row.clients],
      ['connections', (row) => row.connections],
      ['cold, tokens/s', ({ cold }) => perSecond(cold)],
      ['of RSA limit', ({ cold }) => perSecond(cold) / rsaLimit, 2],
      ['cold, no token', ({ cold }) => cold.failures],
      ['cold, p99 ms', ({ cold }) => cold.p99Ms],
      ['warm, tokens/s', ({ warm }) => perSecond(warm)],
      ['warm / one hot client', ({ warm, hot }) => perSecond(warm) / perSecond(hot), 2],
      ['steady, tokens/s', ({ steady }) => (steady ? perSecond(steady) : Number.NaN)],
      ['steady, p99 ms', ({ steady }) => steady?.p99Ms ?? Number.NaN],
      ['hashes per token', ({ steady }) => steady?.hashesPerToken ?? Number.NaN, 3],
    ]),
  );
  const own = rows.filter(({ name, connections: many }) => name.startsWith(OURS) && many < 256);
  return printVerdicts([
    {
      requirement: 'each client of a fleet of this service gets its first token',
      passed: own.every(({ cold, warm }) => cold.failures + warm.failures === 0),
    },
    {
      requirement: 'a steady fleet costs no hash',
      passed: own.every(({ steady }) => !(Number(steady?.hashesPerToken) > 0)),
    },
  ]);
}

async function measureFleet(candidate: Candidate, plan: FleetPlan): Promise<FleetRow> {
  const { port, name, tokenUrls } = candidate;
  const { clients, connections, lifetimeSeconds, open = (to: number) => new RawConnection(to) } = plan;
  const path = new URL(tokenUrls[0] ?? '').pathname;
  const requests = Array.from({ length: clients }, (_, n) => secretRequest(`client-${n + 1}`, SECRET, path));
  const load = () => new Load(Array.from({ length: connections }, () => open(port)));
  const cold = await sendEach(load(), requests);
  const warm = await sendEach(load(), requests);
  const hot = await sendEach(load(), Array<string>(clients).fill(requests[0] ?? ''));
  const figures = { ...plan, name, cold, warm, hot };
  if (lifetimeSeconds === 0) return figures;
  const before = await hashesOf(candidate);
  const steady = await renew(load(), requests, lifetimeSeconds);
  return { ...figures, steady: { ...steady, hashesPerToken: ((await hashesOf(candidate)) - before) / steady.tokens } };
}

/** Look-ups in the cache of verified secrets that spared no hash; NaN for another server. */
async function hashesOf({ metricsUrl }: Candidate): Promise<number> {
  if (metricsUrl === undefined) return Number.NaN;
  const samples = readSamples(await (await fetch(metricsUrl)).text());
  return total(samples, 'auth_verified_secret_lookups_total') - total(samples, 'auth_verified_secret_hits_total');
}

/** Sends each request once, in a closed loop. */
async function sendEach(opened: Load, requests: readonly string[]): Promise<Answers> {
  using load = opened;
  const left = requests.values();
  await Promise.all(
    load.connections.map(async (connection) => {
      for (const request of left) await load.send(connection, request);
    }),
  );
  return load.answers();
}

/**
 * Each client renews its token in the last fifth of each lifetime, at a random moment; its first one is of a random
 * age.
 */
async function renew(opened: Load, requests: readonly string[], lifetimeSeconds: number): Promise<Answers> {
  using load = opened;
  const { from, to } = RENEWAL;
  const end = performance.now() + LIFETIMES * lifetimeSeconds * 1_000;
  const due = requests.map((request) => ({ request, at: performance.now() + Math.random() * lifetimeSeconds * 1_000 }));
  due.sort((one, other) => one.at - other.at);
  const sending = new Set<Promise<void>>();
  const free = [...load.connections];
  while (performance.now() < end) {
    const [next] = due;
    const connection = next !== undefined && next.at <= performance.now() ? free.pop() : undefined;
    if (next === undefined || connection === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      continue;
    }
    due.shift();
    const later = {
      request: next.request,
      at: next.at + (from + Math.random() * (to - from)) * lifetimeSeconds * 1_000,
    };
    due.splice(placeOf(due, later.at), 0, later);
    const sent: Promise<void> = load.send(connection, next.request, next.at).then(() => {
      free.push(connection);
      sending.delete(sent);
    });
    sending.add(sent);
  }
  await Promise.all(sending);
  return load.answers();
}

/** Where to insert a time into a list that is sorted by time. */
function placeOf(due: readonly { readonly at: number }[], at: number): number {
  let [low, high] = [0, due.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((due[middle]?.at ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Connections, and what was answered on them. */
class Load implements Disposable {
  readonly connections: readonly Connection[];
  readonly #begin = performance.now();
  readonly #times: number[] = [];
  #failures = 0;

  constructor(connections: readonly Connection[]) {
    this.connections = connections;
  }

  /** @param dueAt when the request should have been sent: a wait for a connection counts. */
  async send(connection: Connection, request: string, dueAt = performance.now()): Promise<void> {
    if ((await connection.statusOf(request)) === 200) this.#times.push(performance.now() - dueAt);
    else this.#failures += 1;
  }

  answers(): Answers {
    const seconds = (performance.now() - this.#begin) / 1_000;
    return { tokens: this.#times.length, failures: this.#failures, seconds, p99Ms: percentile(this.#times, 99) };
  }

  [Symbol.dispose](): void {
    for (const connection of this.connections) connection[Symbol.dispose]();
  }
}
