import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Backend } from '../support/balancer.ts';
import { requestToken, send } from '../support/http.ts';
import { where } from '../support/installed.ts';
import { environmentOfPrograms, followProgram, type Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend } from '../support/replica.ts';
import { sealedKeysIn } from '../support/sealed-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { HAS_HAPROXY, startHaproxy } from './haproxy.ts';

// A deployment that is replaced, one replica after the other, behind HAProxy as deploy/proxies and docs/operate.md show
// it. For a longer run: ROLLING_ROUNDS=10, DEFAULT_TIMES=true for the times of the default settings, and
// PREVIOUS_CHECKOUT for the folder of another version, to which each second round goes back.
const ROUNDS = Number(process.env['ROLLING_ROUNDS'] ?? 2);
const PREVIOUS = process.env['PREVIOUS_CHECKOUT'];
const TIMES: Readonly<Record<string, string>> =
  process.env['DEFAULT_TIMES'] === 'true' ? {} : { KEY_PUBLICATION_SECONDS: '1', SHUTDOWN_GRACE_MS: '1500' };

const REPLICAS = 3;
const READY_MS = 180_000;
/** 200 requests a second: a token, and the use of the one before. */
const PAUSE_MS = 10;

let database: TestDatabase;
let shared: Readonly<Record<string, string>>;
beforeAll(async () => {
  database = await createTestDatabase();
  shared = await sealedKeysIn(database);
});
afterAll(() => database.drop());

function start({ port, managementPort }: Backend, folder = process.cwd()): Program {
  const env = {
    ...environmentOfPrograms(),
    ...shared,
    BASE_URL: 'http://issuer.test',
    PUBLIC_METADATA: 'true',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    ...TIMES,
  };
  return followProgram(spawn(process.execPath, ['config/main.ts'], { cwd: folder, env }));
}

async function isReady({ managementPort }: Backend): Promise<boolean> {
  const response = await send(`http://127.0.0.1:${managementPort}`, '/readyz').catch(() => undefined);
  return response?.status === 200;
}

/** Sends requests at a constant rate until it is stopped. Nothing waits for a response before the next one. */
class SteadyLoad {
  readonly #url: string;
  readonly #waiting = new Set<Promise<void>>();
  #running = true;
  #token: string | undefined;
  readonly failed: { readonly text: string; readonly begunMs: number }[] = [];
  answered = 0;

  constructor(url: string) {
    this.#url = url;
  }

  async run(): Promise<void> {
    while (this.#running) {
      const pair = this.#getAndUse().finally(() => this.#waiting.delete(pair));
      this.#waiting.add(pair);
      await delay(PAUSE_MS);
    }
    await Promise.all(this.#waiting);
  }

  stop(): void {
    this.#running = false;
  }

  async #getAndUse(): Promise<void> {
    const begunMs = performance.now();
    const headers = { authorization: `Bearer ${this.#token}` };
    const uses = this.#token === undefined ? [] : [send(this.#url, '/v1/locations/NYC_USA', { headers })];
    const [token, ...used] = await Promise.all(
      [requestToken(this.#url, DEMO_TOKEN_REQUEST), ...uses].map((response) =>
        response.catch((error: NodeJS.ErrnoException) => ({ status: 0, text: error.code ?? error.message })),
      ),
    );
    for (const response of [token, ...used]) {
      if (response?.status === 200) this.answered += 1;
      else this.failed.push({ text: `${response?.status} ${response?.text}`, begunMs });
    }
    if (token?.status === 200) this.#token = JSON.parse(token.text).access_token;
  }
}

/** HAProxy is not part of the project. */
const withHaproxy = where(HAS_HAPROXY, it);

withHaproxy(
  `no request of 200 a second fails while three replicas are replaced one after the other, ${ROUNDS} times`,
  async () => {
    const backends = await Promise.all(Array.from({ length: REPLICAS }, freeBackend));
    const replicas = backends.map((backend) => start(backend));
    const areReady = async () => (await Promise.all(backends.map(isReady))).every(Boolean);
    try {
      await until(areReady, 'the replicas are ready', READY_MS);
      // Both versions have this path.
      await using haproxy = await startHaproxy(backends, PREVIOUS === undefined ? '/readyz/verification' : '/readyz');
      const load = new SteadyLoad(haproxy.url);
      const running = load.run();
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const [index, backend] of backends.entries()) {
          replicas[index]?.process.kill('SIGTERM');
          expect(await replicas[index]?.ended()).toBe(0);
          replicas[index] = start(backend, round % 2 === 1 ? undefined : PREVIOUS);
          await until(areReady, 'the replicas are ready', READY_MS);
          // HAProxy believes two checks.
          await delay(1_000);
        }
      }
      load.stop();
      await running;
      process.stderr.write(`${load.answered} answers, ${load.failed.length} failed\n`);
      expect(load.failed).toEqual([]);
      expect(load.answered).toBeGreaterThan(ROUNDS * REPLICAS * 100);
    } finally {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
    }
  },
  3_600_000,
);

withHaproxy(
  'a replica that is killed loses only what it was working on',
  async () => {
    const backends = await Promise.all(Array.from({ length: REPLICAS }, freeBackend));
    const replicas = backends.map((backend) => start(backend));
    try {
      await until(
        async () => (await Promise.all(backends.map(isReady))).every(Boolean),
        'the replicas are ready',
        180_000,
      );
      await using haproxy = await startHaproxy(backends);
      const load = new SteadyLoad(haproxy.url);
      const running = load.run();
      await until(() => load.answered > 300, 'there is load');
      const { answered } = load;
      replicas[1]?.process.kill('SIGKILL');
      await replicas[1]?.ended();
      const endedMs = performance.now();
      await until(() => load.answered > answered + 600, 'the others serve');
      load.stop();
      await running;
      process.stderr.write(`killed: ${load.answered} answers, ${load.failed.length} failed\n`);
      // 502 is a connection that broke. HAProxy sends what cannot connect to another replica.
      expect(load.failed.filter(({ text, begunMs }) => begunMs > endedMs || !text.startsWith('502 '))).toEqual([]);
    } finally {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
    }
  },
  600_000,
);
