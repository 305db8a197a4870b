import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type Backend, Balancer } from '../support/balancer.ts';
import { CachingResourceServer } from '../support/caching-resource-server.ts';
import { requestToken, send } from '../support/http.ts';
import type { Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const ISSUER = 'http://issuer.test';
const PUBLICATION_SECONDS = 2;
const WORKERS = 4;
const USES_A_TOKEN = 4;
const ROTATIONS = 5;
/** Two of three replicas go in turn; the third one is left alone long enough to rotate its key: first the last, then the first. */
const STRUCK = [0, 1, 0, 1, 0, 1, 2, 1, 2, 1, 2, 1];
const SIGNALS = ['SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM'] as const;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

function start(backend: Backend): Program {
  return startReplica(backend, {
    BASE_URL: ISSUER,
    PUBLIC_METADATA: 'true',
    DATABASE_URL: database.url,
    KEY_DIRECTORY: 'postgres',
    KEY_ROTATION_SECONDS: '4',
    KEY_PUBLICATION_SECONDS: String(PUBLICATION_SECONDS),
    TOKEN_LIFETIME_SECONDS: '10',
  });
}

/** What the callers of the service and of a resource server met. */
class Load {
  readonly #url: string;
  readonly #resourceServer: CachingResourceServer;
  readonly #tokens: string[] = [];
  readonly refusals: string[] = [];
  issued = 0;
  usedHere = 0;
  usedElsewhere = 0;
  /** Requests that met a replica that was killed, or none that was ready. */
  readonly lost: string[] = [];
  running = true;

  constructor(url: string, resourceServer: CachingResourceServer) {
    this.#url = url;
    this.#resourceServer = resourceServer;
  }

  /** Gets a token, uses those that are alive in turn, and begins anew. */
  async run(): Promise<void> {
    while (this.running) {
      await this.#getToken().catch((fault: Error) => this.lost.push(fault.message));
      for (let use = 0; use < USES_A_TOKEN; use += 1)
        await this.#useOldest().catch((fault: Error) => this.lost.push(fault.message));
    }
  }

  async #getToken(): Promise<void> {
    const answer = await requestToken(this.#url, DEMO_TOKEN_REQUEST);
    if (answer.status === 401) this.refusals.push(`a token: ${answer.text}`);
    if (answer.status !== 200) return void this.lost.push(answer.text);
    this.issued += 1;
    this.#tokens.unshift(String(answer.json()['access_token']));
  }

  async #useOldest(): Promise<void> {
    const token = this.#tokens.pop();
    if (token === undefined || !isAlive(token)) return;
    this.#tokens.unshift(token);

    const answer = await send(this.#url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });
    if (answer.status === 200) this.usedHere += 1;
    else if (answer.status !== 401) this.lost.push(answer.text);
    else if (isAlive(token)) this.refusals.push(`the service: ${answer.text} ${kidOf(token)}`);

    if (!isAlive(token)) return;
    if (await this.#resourceServer.accepts(token, ISSUER)) this.usedElsewhere += 1;
    else if (isAlive(token)) this.refusals.push(`the resource server: ${kidOf(token)}`);
  }
}

describe('three replicas that share their public keys', () => {
  it('refuse no good token, and let no resource server refuse one, while they are restarted and killed and rotate their keys', async () => {
    const backends = [await freeBackend(), await freeBackend(), await freeBackend()];
    const replicas = backends.map(start);
    const ended: Program[] = [];
    const balancer = await Balancer.start(backends);
    const resourceServer = new CachingResourceServer(
      new URL('/oauth2/jwks', balancer.url),
      (PUBLICATION_SECONDS * 1000) / 2,
    );
    const load = new Load(balancer.url, resourceServer);
    const struck = { SIGTERM: 0, SIGKILL: 0 };
    try {
      await until(() => backends.every((backend) => balancer.isReady(backend)), 'all replicas are ready');
      const workers = Array.from({ length: WORKERS }, () => load.run());
      for (const [turn, place] of STRUCK.entries()) {
        const [backend, replica, signal] = [backends[place], replicas[place], SIGNALS[turn % SIGNALS.length]];
        if (!backend || !replica || !signal) throw new Error('no replica');
        const others = backends.filter((other) => other !== backend);
        await until(
          () => balancer.isReady(backend) && others.some((other) => balancer.isReady(other)),
          'the replica is ready, and another',
        );
        replica.process.kill(signal);
        expect(await replica.ended()).toBe(signal === 'SIGTERM' ? 0 : null);
        await until(() => !balancer.isReady(backend), 'the balancer has noticed');
        struck[signal] += 1;
        ended.push(replica);
        replicas[place] = start(backend);
      }
      await until(() => backends.every((backend) => balancer.isReady(backend)), 'all replicas are ready again');
      const rotations = () => [...ended, ...replicas].reduce((sum, replica) => sum + rotationsOf(replica), 0);
      await until(() => rotations() >= ROTATIONS, 'enough keys are rotated');
      load.running = false;
      await Promise.all(workers);

      expect(load.refusals).toEqual([]);
      expect(struck).toEqual({ SIGTERM: 6, SIGKILL: 6 });
      expect(load.issued).toBeGreaterThan(200);
      expect(load.usedHere).toBeGreaterThan(800);
      expect(load.usedElsewhere).toBeGreaterThan(800);
      // It kept the key set, and did not ask for it each time.
      expect(resourceServer.fetched).toBeLessThan(load.usedElsewhere / 2);
      expect(load.lost.length).toBeLessThan(load.usedHere / 10);
    } finally {
      load.running = false;
      await balancer.close();
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    }
  }, 120_000);
});

function isAlive(token: string): boolean {
  return Date.now() < (decodeJwt(token).exp ?? 0) * 1000;
}

function kidOf(token: string): string {
  return Buffer.from(token.split('.')[0] ?? '', 'base64url').toString();
}

function rotationsOf(replica: Program): number {
  return replica.stdout().split('"event":"key_retired"').length - 1;
}
