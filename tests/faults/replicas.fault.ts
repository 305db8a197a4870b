import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import { type Backend, Balancer } from '../support/balancer.ts';
import { requestToken, send } from '../support/http.ts';
import type { Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { sealedKeysIn } from '../support/sealed-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { CachingResourceServer } from './caching-resource-server.ts';

const ISSUER = 'http://issuer.test';
const PUBLICATION_SECONDS = 2;
const CALLERS = 4;
const USES_A_TOKEN = 4;
const ROTATIONS = 5;
/** Between the rounds of a caller, so that the replicas, and not the callers, get the processor. */
const PAUSE_MS = 10;
/**
 * The replicas to end, in this order. One of the three always runs long enough to rotate its key: first the last, then
 * the first.
 */
const ENDED = [0, 1, 0, 1, 2, 1, 2, 1];
const SIGNALS = ['SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM'] as const;

let database: TestDatabase;
let shared: Readonly<Record<string, string>>;
beforeAll(async () => {
  database = await createTestDatabase();
  shared = await sealedKeysIn(database);
});
afterAll(() => database.drop());

function start(backend: Backend, algorithm: TokenAlgorithm): Program {
  return startReplica(backend, {
    TOKEN_SIGNING_ALG: algorithm,
    BASE_URL: ISSUER,
    PUBLIC_METADATA: 'true',
    ...shared,
    // So that the keys of an algorithm that no replica has any more sign for as long as the first of another one waits.
    KEY_ROTATION_SECONDS: '10',
    KEY_PUBLICATION_SECONDS: String(PUBLICATION_SECONDS),
    TOKEN_LIFETIME_SECONDS: '10',
  });
}

/** Callers of the service and of a resource server, and the responses that they got. */
class Load {
  readonly #url: string;
  readonly #resourceServer: CachingResourceServer;
  readonly #tokens: string[] = [];
  readonly refusals: string[] = [];
  issued = 0;
  usedHere = 0;
  usedElsewhere = 0;
  /** Requests that reached a killed replica, or for which no replica was ready. */
  readonly lost: string[] = [];
  running = true;

  constructor(url: string, resourceServer: CachingResourceServer) {
    this.#url = url;
    this.#resourceServer = resourceServer;
  }

  isEnough(): boolean {
    return this.issued > 200 && this.usedHere > 800 && this.usedElsewhere > 800;
  }

  /** Gets a token, then uses the tokens that have not expired, oldest first, again and again. */
  async run(): Promise<void> {
    while (this.running) {
      await this.#getToken().catch((fault: Error) => this.lost.push(fault.message));
      for (let use = 0; use < USES_A_TOKEN; use += 1)
        await this.#useOldest().catch((fault: Error) => this.lost.push(fault.message));
      await delay(PAUSE_MS);
    }
  }

  async #getToken(): Promise<void> {
    const response = await requestToken(this.#url, DEMO_TOKEN_REQUEST);
    if (response.status === 401) this.refusals.push(`a token: ${response.text}`);
    if (response.status !== 200) return void this.lost.push(response.text);
    this.issued += 1;
    this.#tokens.unshift(String(response.json()['access_token']));
  }

  async #useOldest(): Promise<void> {
    const token = this.#tokens.pop();
    if (token === undefined || hasExpired(token)) return;
    this.#tokens.unshift(token);

    const response = await send(this.#url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });
    if (response.status === 200) this.usedHere += 1;
    else if (response.status !== 401) this.lost.push(response.text);
    else if (!hasExpired(token)) this.refusals.push(`the service: ${response.text} ${kidOf(token)}`);

    if (hasExpired(token)) return;
    if (await this.#resourceServer.accepts(token, ISSUER)) this.usedElsewhere += 1;
    else if (!hasExpired(token)) this.refusals.push(`the resource server: ${kidOf(token)}`);
  }
}

describe('three replicas that share their keys', () => {
  it.each<[string, readonly TokenAlgorithm[]]>([
    ['', ['RS256']],
    [', each start with another algorithm', ['RS256', 'ES256', 'EdDSA', 'PS256']],
  ])(
    'refuse no valid token, and cause no resource server to refuse one, while they are restarted, are killed and rotate their keys%s',
    async (_how, algorithms) => {
      const backends = [await freeBackend(), await freeBackend(), await freeBackend()];
      let started = 0;
      const startNext = (backend: Backend) => {
        started += 1;
        return start(backend, algorithms[(started - 1) % algorithms.length] ?? 'RS256');
      };
      const replicas = backends.map(startNext);
      const ended: Program[] = [];
      const balancer = await Balancer.start(backends);
      const resourceServer = new CachingResourceServer(
        new URL('/oauth2/jwks', balancer.url),
        (PUBLICATION_SECONDS * 1000) / 2,
      );
      const load = new Load(balancer.url, resourceServer);
      const endedBy = { SIGTERM: 0, SIGKILL: 0 };
      try {
        await until(() => backends.every((backend) => balancer.isReady(backend)), 'all replicas are ready');
        const callers = Array.from({ length: CALLERS }, () => load.run());
        for (const [step, index] of ENDED.entries()) {
          const [backend, replica, signal] = [backends[index], replicas[index], SIGNALS[step % SIGNALS.length]];
          if (!backend || !replica || !signal) throw new Error('no replica');
          const others = backends.filter((other) => other !== backend);
          await until(
            () => balancer.isReady(backend) && others.some((other) => balancer.isReady(other)),
            'the replica and another one are ready',
          );
          replica.process.kill(signal);
          expect(await replica.ended()).toBe(signal === 'SIGTERM' ? 0 : null);
          await until(() => !balancer.isReady(backend), 'the balancer notices');
          endedBy[signal] += 1;
          ended.push(replica);
          replicas[index] = startNext(backend);
        }
        await until(() => backends.every((backend) => balancer.isReady(backend)), 'all replicas are ready again');
        const rotations = () => [...ended, ...replicas].reduce((sum, replica) => sum + rotationsOf(replica), 0);
        await until(() => rotations() >= ROTATIONS, 'enough keys are rotated');
        await until(() => load.isEnough(), 'there was enough load');
        load.running = false;
        await Promise.all(callers);

        expect(load.refusals).toEqual([]);
        expect(endedBy).toEqual({ SIGTERM: 4, SIGKILL: 4 });
        // The resource server used its cache.
        expect(resourceServer.fetched).toBeLessThan(load.usedElsewhere / 2);
        expect(load.lost.length).toBeLessThan(load.usedHere / 10);
      } finally {
        load.running = false;
        await balancer.close();
        await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
      }
    },
    600_000,
  );
});

function hasExpired(token: string): boolean {
  return Date.now() >= (decodeJwt(token).exp ?? 0) * 1000;
}

function kidOf(token: string): string {
  return Buffer.from(token.split('.')[0] ?? '', 'base64url').toString();
}

function rotationsOf(replica: Program): number {
  return replica.stdout().split('"event":"key_retired"').length - 1;
}
