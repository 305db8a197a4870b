import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { NO_SECRET } from '../../domain/stored-secret.ts';
import type { BenchDatabaseServer } from './bench-database.ts';
import { type Candidate, startInMemory, startOnPostgres, startPeer, startReplicas } from './candidates.ts';
import { startFederated } from './federated-load.ts';
import type { LoadGenerator } from './load-generator.ts';
import { type Measurement, measure, STANDARD_LOAD } from './measurement.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from './registrations.ts';
import { say } from './report.ts';
import type { RsaLimit } from './rsa-limit.ts';
import { SigningClients } from './signing-clients.ts';

const WARM_UP_SECONDS = 2;
const RSA_SECONDS = 2;

/** The pool, the replicas and the pool with assertions, each on a database of its own. */
const SERVICES_ON_POSTGRES = 3;

export interface ComparisonPlan {
  readonly rounds: number;
  /** Of load on each candidate in each round. */
  readonly seconds: number;
}

export interface Comparison {
  /** The machine's RSA-2048 signatures per second, one value per round. */
  readonly rsaLimits: readonly number[];
  readonly rows: readonly ComparisonRow[];
}

/** The results of one candidate. */
export interface ComparisonRow {
  readonly name: string;
  readonly tokenBytes: number;
  /** Keys in its published key set. */
  readonly keys: number;
  readonly rounds: readonly Measurement[];
}

/** Measures the machine's RSA limit and all candidates one after another in each round. While one is measured, the others idle. */
export async function compareServers(
  { rounds, seconds }: ComparisonPlan,
  { generator, rsaLimit, databases }: { generator: LoadGenerator; rsaLimit: RsaLimit; databases: BenchDatabaseServer },
  opened: AsyncDisposableStack,
): Promise<Comparison> {
  const candidates = await startCandidates(databases, opened);
  const rows: (ComparisonRow & { readonly rounds: Measurement[] })[] = [];
  for (const candidate of candidates) {
    rows.push({ name: candidate.name, ...(await checkTokens(candidate)), rounds: [] });
  }
  const plan = { ...STANDARD_LOAD, seconds, warmUpSeconds: WARM_UP_SECONDS };
  const rsaLimits: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    rsaLimits.push(await rsaLimit.measure(RSA_SECONDS));
    say(`round ${round} of ${rounds}: ${rsaLimits.at(-1)?.toFixed(0)} RSA-2048 signatures/s`);
    for (const [position, candidate] of candidates.entries()) {
      const measurement = await measure(candidate, generator, plan);
      rows[position]?.rounds.push(measurement);
      say(`  ${candidate.name}: ${measurement.tokensPerSecond.toFixed(0)} tokens/s`);
    }
  }
  return { rsaLimits, rows };
}

/** Starts all servers of the comparison with the same clients. */
async function startCandidates(
  databases: BenchDatabaseServer,
  opened: AsyncDisposableStack,
): Promise<readonly Candidate[]> {
  const { count } = STANDARD_LOAD.clients;
  const hashed = registrations('client', count, await hashedSecret(RECOMMENDED_COST));
  const plain = registrations('client', count, `{noop}${SECRET}`);
  const onPostgres = { services: SERVICES_ON_POSTGRES };
  const withoutCache = { environment: { CLIENT_SECRET_REMEMBERED_SECONDS: '0' } };
  const node = '@node-oauth/oauth2-server';
  const [pool, replicas] = [await databases.create(), await databases.create()];
  const signingClients = new SigningClients('http://issuer.test');
  const signed = signingClients.withKeys(registrations('client', count, NO_SECRET));
  return [
    await startInMemory('this service, memory', hashed, opened),
    await startOnPostgres('this service, PostgreSQL', pool, hashed, opened, onPostgres),
    await startReplicas('this service, PostgreSQL, single-process replicas', replicas, hashed, opened, onPostgres),
    await startInMemory('this service, memory, secret cache off', hashed, opened, withoutCache),
    await startInMemory('this service, memory, private_key_jwt', signed, opened, { signingClients }),
    await startOnPostgres('this service, PostgreSQL, private_key_jwt', await databases.create(), signed, opened, {
      ...onPostgres,
      signingClients,
    }),
    await startFederated('this service, memory, federated_jwt (RS256)', opened),
    await startPeer('oidc-provider, one process by default', 'oidc-provider.mjs', plain, opened, { PROCESSES: '1' }),
    await startPeer('oidc-provider, one process per core', 'oidc-provider.mjs', plain, opened),
    await startPeer(`${node}, plain secrets`, 'node-oauth2-server.mjs', plain, opened),
    await startPeer(`${node}, BCrypt`, 'node-oauth2-server.mjs', hashed, opened),
  ];
}

/**
 * Requests a token from each port of a candidate. Throws unless each token is a JWT signed with RS256 by an RSA key of 2048 bits
 * from the candidate's one key set: a server that does cheaper work must not be compared. Returns the size of a token.
 */
async function checkTokens({
  name,
  tokenUrls,
  keySetUrl,
  signingClients,
}: Candidate): Promise<{ tokenBytes: number; keys: number }> {
  const withSecret = { grant_type: 'client_credentials', client_id: 'client-1', client_secret: SECRET };
  let tokenBytes = Number.NaN;
  for (const tokenUrl of tokenUrls) {
    const body = new URLSearchParams(signingClients?.bodyOf('client-1') ?? withSecret);
    const answer = await fetch(tokenUrl, { method: 'POST', body });
    const { access_token: token } = (await answer.json()) as { access_token?: string };
    if (answer.status !== 200 || token === undefined) throw new Error(`${name} answered ${answer.status}`);
    await checkSignature(name, token, await keySetAt(keySetUrl));
    tokenBytes = token.length;
  }
  return { tokenBytes, keys: (await keySetAt(keySetUrl)).keys.length };
}

async function keySetAt(url: string): Promise<JSONWebKeySet> {
  return (await (await fetch(url)).json()) as JSONWebKeySet;
}

async function checkSignature(name: string, token: string, keySet: JSONWebKeySet): Promise<void> {
  await jwtVerify(token, createLocalJWKSet(keySet), { algorithms: ['RS256'], requiredClaims: ['iss', 'sub', 'exp'] });
  const { kid } = decodeProtectedHeader(token);
  const key = keySet.keys.find((candidateKey) => candidateKey.kid === kid);
  const { modulusLength } = createPublicKey({ key: key as JsonWebKey, format: 'jwk' }).asymmetricKeyDetails ?? {};
  if (modulusLength !== 2048) throw new Error(`${name} signs with ${modulusLength} bits`);
}
