import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { NO_SECRET } from '../../domain/stored-secret.ts';
import { signingClients, workloads } from './assertion-clients.ts';
import { barChart } from './bar-chart.ts';
import { type BenchDatabaseServer, startBenchDatabaseServer } from './bench-database.ts';
import {
  type Candidate,
  REPLICA_SETTINGS,
  startInMemory,
  startOnPostgres,
  startOnSqlite,
  startPeer,
  startReplicas,
  startSigningServer,
} from './candidates.ts';
import type { Options } from './command-line.ts';
import { findLoadGenerator } from './load-generator.ts';
import { type Measurement, measure, medianFigures, STANDARD_LOAD } from './measurement.ts';
import { peerVersion } from './peers.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from './registrations.ts';
import { conditions, figure, median, print, say, table } from './report.ts';
import { measureRsaLimit, rsaLimitTool } from './rsa-limit.ts';

const WARM_UP_SECONDS = 2;
const RSA_SECONDS = 2;

const OURS = 'this service';

/** The pool, once more with ES256, the replicas, and the pool with assertions, each on its own database. */
const SERVICES_ON_POSTGRES = 4;

/** The results of one candidate. */
interface ComparisonRow {
  readonly name: string;
  readonly tokenBytes: number;
  /** Keys in its published key set. */
  readonly keys: number;
  readonly rounds: readonly Measurement[];
}

/**
 * `npm run bench`: this service next to others. Measures the machine's RSA limit and all candidates one after another
 * in each round. While one is measured, the others idle. Returns whether every response was a token.
 */
export async function runComparison(
  { rounds, seconds, folder }: Options<'comparison'>,
  opened: AsyncDisposableStack,
): Promise<boolean> {
  const rsaTool = await rsaLimitTool();
  const generator = await findLoadGenerator();
  const databases = await startBenchDatabaseServer(opened);
  const candidates = await startCandidates(databases, opened);
  const rows: (ComparisonRow & { readonly rounds: Measurement[] })[] = [];
  for (const candidate of candidates) {
    rows.push({ name: candidate.name, ...(await checkTokens(candidate)), rounds: [] });
  }
  const plan = { ...STANDARD_LOAD, seconds, warmUpSeconds: WARM_UP_SECONDS };
  const rsaLimits: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    rsaLimits.push(await measureRsaLimit(RSA_SECONDS));
    say(`round ${round} of ${rounds}: ${rsaLimits.at(-1)?.toFixed(0)} RSA-2048 signatures/s`);
    for (const [position, candidate] of candidates.entries()) {
      const measurement = await measure(candidate, generator, plan);
      rows[position]?.rounds.push(measurement);
      say(`  ${candidate.name}: ${measurement.tokensPerSecond.toFixed(0)} tokens/s`);
    }
  }
  const peers = ['oidc-provider', '@node-oauth/oauth2-server'];
  const versions = await Promise.all(peers.map(async (name) => `${name} ${await peerVersion(name)}`));
  print(
    conditions(
      `Load: ${generator.name}, ${STANDARD_LOAD.connections} keep-alive connections, ${rounds} rounds of ${seconds} s`,
      `RSA limit: ${rsaTool}`,
      `PostgreSQL: ${databases.name}`,
      `Other servers: ${versions.join(', ')}`,
    ),
  );
  print(comparisonTable(rows, rsaLimits));
  if (folder !== '') await writeFile(join(folder, 'throughput.svg'), chartOf(rows, rsaLimits));
  const failed = rows.filter((row) => row.rounds.some(({ failures }) => failures > 0));
  for (const { name } of failed) say(`FAILED: ${name} did not answer every request with a token`);
  return failed.length === 0;
}

/** Medians over the rounds, below the machine's RSA-2048 signatures per second. */
function comparisonTable(measured: readonly ComparisonRow[], rsaLimits: readonly number[]): string {
  const rows = measured.map((row) => ({ ...row, ...medianFigures(row.rounds, rsaLimits) }));
  const percent = (ratio: number) => `${figure(ratio * 100, ratio < 0.1 ? 1 : 0)} %`;
  const limit = `The machine's RSA-2048 limit: ${figure(median(rsaLimits))} signatures/s.`;
  const compared = table(rows, [
    ['candidate', ({ name }) => name],
    ['tokens/s', ({ tokensPerSecond }) => tokensPerSecond],
    ['of RSA limit', ({ ratio }) => percent(ratio)],
    ['p50 ms', ({ p50Ms }) => p50Ms, 1],
    ['p99 ms', ({ p99Ms }) => p99Ms, 1],
    ['CPU ms/token', ({ cpuMsPerToken }) => cpuMsPerToken, 2],
    ['memory MB', ({ memoryMb }) => memoryMb],
    ['keys', ({ keys }) => keys],
    ['DB connections', ({ databaseConnections }) => (Number.isNaN(databaseConnections) ? '' : databaseConnections)],
    ['token bytes', ({ tokenBytes }) => tokenBytes],
    ['failures', ({ failures }) => failures],
  ]);
  return `${limit}\n\n${compared}`;
}

/** The same medians as bars. */
function chartOf(measured: readonly ComparisonRow[], rsaLimits: readonly number[]): string {
  const bars = measured.map(({ name, rounds }) => ({
    name,
    value: medianFigures(rounds).tokensPerSecond,
    isOurs: name.startsWith(OURS),
  }));
  const limit = { name: 'RSA-2048 signatures of this machine', value: median(rsaLimits) };
  return barChart('Tokens per second', 'Tokens per second', bars, limit);
}

/** Starts all servers of the comparison with the same clients. */
async function startCandidates(
  databases: BenchDatabaseServer,
  opened: AsyncDisposableStack,
): Promise<readonly Candidate[]> {
  const { count } = STANDARD_LOAD.clients;
  const hashed = registrations('client', count, await hashedSecret(RECOMMENDED_COST));
  const plain = registrations('client', count, `{noop}${SECRET}`);
  const keyless = registrations('client', count, NO_SECRET);
  const [signing, identified] = [signingClients(), await workloads('RS256', opened)];
  const signed = signing.register(keyless);
  const services = SERVICES_ON_POSTGRES;
  const withoutCache = { environment: { CLIENT_SECRET_CACHE_MAX: '0' } };
  const node = '@node-oauth/oauth2-server';
  const es256 = { environment: { TOKEN_SIGNING_ALG: 'ES256' } };
  const [pool, replicas, withKeys] = [await databases.create(), await databases.create(), await databases.create()];
  return [
    await startInMemory('this service, memory', hashed, opened),
    await startInMemory('this service, memory, ES256', hashed, opened, es256),
    await startSigningServer('one process of bare node:http, ES256: no server does less', 'ES256', opened),
    await startOnSqlite('this service, SQLite', hashed, opened),
    await startOnPostgres('this service, PostgreSQL', pool, hashed, opened, { services }),
    await startOnPostgres('this service, PostgreSQL, ES256', await databases.create(), hashed, opened, {
      services,
      ...es256,
    }),
    await startReplicas('this service, PostgreSQL, single-process replicas', replicas, hashed, opened, { services }),
    await startInMemory('this service, memory, secret cache off', hashed, opened, withoutCache),
    await startInMemory('this service, memory, private_key_jwt', signed, opened, { assertions: signing }),
    await startOnPostgres('this service, PostgreSQL, private_key_jwt', withKeys, signed, opened, {
      services,
      assertions: signing,
      environment: REPLICA_SETTINGS,
    }),
    await startInMemory('this service, memory, federated_jwt (RS256)', identified.register(keyless), opened, {
      assertions: identified,
    }),
    await startPeer('oidc-provider, one process by default', 'oidc-provider.mjs', plain, opened, { PROCESSES: '1' }),
    await startPeer('oidc-provider, one process per core', 'oidc-provider.mjs', plain, opened),
    await startPeer('oidc-provider, one process per core, ES256', 'oidc-provider.mjs', plain, opened, { ALG: 'ES256' }),
    await startPeer(`${node}, plain secrets`, 'node-oauth2-server.mjs', plain, opened),
    await startPeer(`${node}, BCrypt`, 'node-oauth2-server.mjs', hashed, opened),
  ];
}

/**
 * Requests a token from each port of a candidate. Throws unless each token is a JWT signed by a key from the
 * candidate's one key set: with RS256 of 2048 bits, or what the candidate says, since cheaper work must not be
 * compared. Returns the size of a token.
 */
async function checkTokens({ name, tokenUrls, keySetUrl, algorithm = 'RS256', assertions }: Candidate) {
  const withSecret = { grant_type: 'client_credentials', client_id: 'client-1', client_secret: SECRET };
  const keySet = async () => (await (await fetch(keySetUrl)).json()) as JSONWebKeySet;
  let tokenBytes = Number.NaN;
  for (const tokenUrl of tokenUrls) {
    const body = new URLSearchParams(assertions?.bodyOf('client-1') ?? withSecret);
    const response = await fetch(tokenUrl, { method: 'POST', body });
    const { access_token: token } = (await response.json()) as { access_token?: string };
    if (response.status !== 200 || token === undefined) throw new Error(`${name} answered ${response.status}`);
    const { keys } = await keySet();
    await jwtVerify(token, createLocalJWKSet({ keys }), {
      algorithms: [algorithm],
      requiredClaims: ['iss', 'sub', 'exp'],
    });
    const key = keys.find(({ kid }) => kid === decodeProtectedHeader(token).kid) as JsonWebKey;
    const { modulusLength } = createPublicKey({ key, format: 'jwk' }).asymmetricKeyDetails ?? {};
    if (algorithm === 'RS256' && modulusLength !== 2048) throw new Error(`${name} signs with ${modulusLength} bits`);
    tokenBytes = token.length;
  }
  return { tokenBytes, keys: (await keySet()).keys.length };
}
