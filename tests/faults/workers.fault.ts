import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { getAccessToken, requestToken, send } from '../support/http.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceWithWorkers } from '../support/service-with-workers.ts';
import { socketsOf } from '../support/sockets-of.ts';
import { until } from '../support/until.ts';

/** Often enough to meet every phase of a rotation; more often would only be work. */
const REQUEST_EVERY_MS = 25;

const CALLERS = 64;
const KILLS = 6;
const LOAD_MS = 15_000;

/** Callers that ask again and again, on a new connection each time, until they are stopped. */
class Callers {
  answered = 0;
  /** Reset or refused. */
  failed = 0;
  slowestMs = 0;
  #isRunning = true;
  readonly #calls: readonly Promise<void>[];

  constructor(url: string, count: number) {
    this.#calls = Array.from({ length: count }, async () => {
      while (this.#isRunning) await this.#call(url);
    });
  }

  /** Resolves when each call is over. Fails if a caller waits for a minute. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    let isOver = false;
    void Promise.all(this.#calls).then(() => {
      isOver = true;
    });
    await until(() => isOver, 'each call has an answer or a reset');
  }

  async #call(url: string): Promise<void> {
    const since = performance.now();
    try {
      await requestToken(url, DEMO_TOKEN_REQUEST);
      this.answered += 1;
    } catch {
      this.failed += 1;
      // While no worker listens, the system refuses connections at once.
      await delay(10);
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - since);
  }
}

describe('workers under load', () => {
  it(`leave no caller and no connection behind: ${KILLS} kills, half of them of a stopped worker`, async () => {
    const service = await startServiceWithWorkers();
    await using _program = service.program;
    const pid = service.program.process.pid ?? 0;
    const before = socketsOf(pid);
    const callers = new Callers(service.url, CALLERS);
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const answered = callers.answered;
      await until(() => callers.answered > answered + CALLERS, 'the callers get answers');
      const worker = service.aWorkerPid();
      if (kill % 2 === 0) process.kill(worker, 'SIGSTOP');
      await delay(50);
      process.kill(worker, 'SIGKILL');
      const replaced = () => service.program.stdout().split('"event":"worker_replaced"').length - 1;
      await until(() => replaced() === kill, 'the worker is replaced');
    }
    await callers.stop();
    await until(() => socketsOf(pid) === before, 'the primary holds what it held before');
  }, 300_000);

  it('that end again and again make the service unready, with the reason', async () => {
    const service = await startServiceWithWorkers();
    await using _program = service.program;
    const readiness = () => send(service.managementUrl, '/readyz');
    for (let end = 1; end <= 3; end += 1) {
      expect((await readiness()).status).toBe(200);
      process.kill(service.aWorkerPid(), 'SIGKILL');
      const replaced = () => service.program.stdout().split('"event":"worker_replaced"').length - 1;
      await until(() => replaced() === end, 'the worker is replaced');
    }
    const answer = await readiness();
    expect(answer.status).toBe(503);
    const reason = 'workers end again and again';
    expect(answer.json()['checks']).toContainEqual({ name: 'workers', ready: false, reason });
    expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
  });

  it('are not killed on a machine whose cores are all busy', async () => {
    const service = await startServiceWithWorkers();
    await using _program = service.program;
    const burners = Array.from({ length: 6 * availableParallelism() }, () =>
      spawn(process.execPath, [
        '-e',
        `setTimeout(() => process.exit(), ${2 * LOAD_MS}); (function burn() { for (let n = 0; n < 1e7; n += 1); setImmediate(burn); })()`,
      ]),
    );
    try {
      const callers = new Callers(service.url, CALLERS);
      await delay(LOAD_MS);
      await callers.stop();
      expect(callers.answered).toBeGreaterThan(CALLERS);
      expect(service.program.stdout()).not.toContain('worker_hangs');
    } finally {
      for (const burner of burners) burner.kill('SIGKILL');
    }
  });
});

describe('a service with workers', () => {
  it('makes all workers follow a rotation of its key', async () => {
    const service = await startServiceWithWorkers({ KEY_PUBLICATION_SECONDS: '1', KEY_ROTATION_SECONDS: '2' });
    await using _program = service.program;
    const issued: string[] = [];
    const kids = () => new Set(issued.map((token) => decodeProtectedHeader(token).kid));
    while (kids().size < 3) {
      const token = await getAccessToken(service.url, DEMO_TOKEN_REQUEST.client_id, DEMO_TOKEN_REQUEST.client_secret);
      issued.push(token);
      const answers = await Promise.all(
        Array.from({ length: 4 }, () =>
          send(service.url, '/v1/locations/NYC_USA', { headers: { Authorization: `Bearer ${token}` } }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      await delay(REQUEST_EVERY_MS);
    }
  });
});
