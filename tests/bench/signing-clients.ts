import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAt } from '../support/run-at.ts';
import type { Registration } from './registrations.ts';

/** Seconds for which an assertion is valid: longer than a round of load. */
const LIFETIME_SECONDS = 240;

/** Bodies between two writes to a file. */
const BATCH = 1_000;

const ASSERTION_TYPE = encodeURIComponent('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');

/** A file with request bodies, one per line, until it is disposed of. */
export interface BodiesFile extends AsyncDisposable {
  readonly path: string;
}

/** Clients that authenticate with assertions. */
export interface AssertionBodies {
  /** The body of a token request of this client. */
  bodyOf(clientId: string): string;
  /** Bodies of that many requests, which the clients send in turn. */
  writeBodies(count: number, clients: number): Promise<BodiesFile>;
}

/** Clients that authenticate with `private_key_jwt`. They share one ES256 key. */
export class SigningClients implements AssertionBodies {
  readonly issuer: string;
  readonly #privateKey: KeyObject;
  readonly #jwk: object;

  /** @param issuer the audience of the assertions. */
  constructor(issuer: string) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.issuer = issuer;
    this.#privateKey = privateKey;
    this.#jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256' };
  }

  /** These clients with the key. @param signs which of them; all by default. */
  withKeys(
    clients: readonly Registration[],
    signs: (clientId: string) => boolean = () => true,
  ): readonly Registration[] {
    const jwks = { keys: [this.#jwk] };
    return clients.map((client) => (signs(client.client_id) ? { ...client, jwks } : client));
  }

  /** Inserts the keys of clients that are in the table. */
  async insertKeys(databaseUrl: string, clients: readonly Registration[]): Promise<void> {
    const ids = clients.filter((client) => client.jwks !== undefined).map(({ client_id }) => client_id);
    const text = `insert into client_keys (client_id, registration_id, key_id, jwk)
      select client_id, id::text, 'bench', $1 from clients where client_id = any($2)`;
    await runAt(databaseUrl, text, [JSON.stringify(this.#jwk), ids]);
    await runAt(databaseUrl, 'vacuum analyze client_keys');
  }

  /** The body of a token request of this client, with a new assertion. */
  bodyOf(clientId: string): string {
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: clientId, sub: clientId, aud: this.issuer, iat: now, exp: now + LIFETIME_SECONDS };
    const input = [
      { alg: 'ES256', kid: 'bench' },
      { ...claims, jti: randomUUID() },
    ]
      .map(encode)
      .join('.');
    const signature = sign('sha256', Buffer.from(input), { key: this.#privateKey, dsaEncoding: 'ieee-p1363' });
    const assertion = `${input}.${signature.toString('base64url')}`;
    return `grant_type=client_credentials&client_assertion_type=${ASSERTION_TYPE}&client_assertion=${assertion}`;
  }

  writeBodies(count: number, clients: number): Promise<BodiesFile> {
    return writeBodies((clientId) => this.bodyOf(clientId), count, clients);
  }
}

/** @param clients the bodies are those of `client-1` to `client-CLIENTS` in turn. */
export async function writeBodies(
  bodyOf: AssertionBodies['bodyOf'],
  count: number,
  clients: number,
): Promise<BodiesFile> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  const path = join(folder, 'bodies.txt');
  const file = createWriteStream(path);
  for (let n = 0; n < count; n += BATCH) {
    const lines = Array.from(
      { length: Math.min(BATCH, count - n) },
      (_, m) => `${bodyOf(`client-${1 + ((n + m) % clients)}`)}\n`,
    );
    if (!file.write(lines.join(''))) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
