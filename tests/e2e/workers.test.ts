import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { getAccessToken, requestToken, send } from '../support/http.ts';
import { isAlive } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceWithWorkers, startServiceWithWorkers } from '../support/service-with-workers.ts';
import { until } from '../support/until.ts';

const SMALL_YOUNG_HEAP = '--max-semi-space-size=8';

const { client_id: ID, client_secret: SECRET } = DEMO_TOKEN_REQUEST;

/** The complete lines so far. */
function logLines({ program }: ServiceWithWorkers): readonly Record<string, unknown>[] {
  const lines = program.stdout().split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

describe('two workers', () => {
  let service: ServiceWithWorkers;
  beforeAll(async () => {
    service = await startServiceWithWorkers({ CLIENT_FAILURES_PER_MINUTE: '3' });
  });
  afterAll(async () => service.program[Symbol.asyncDispose]());

  /** As many at once as there may be failed attempts: on a busy machine, one more could wait too long and get 429. */
  async function getTokens(times: number): Promise<readonly string[]> {
    const tokens: string[] = [];
    for (let time = 0; time < times; time += 1) {
      tokens.push(...(await Promise.all([1, 2, 3].map(() => getAccessToken(service.url, ID, SECRET)))));
    }
    return tokens;
  }

  const getLocation = (token: string) =>
    send(service.url, '/v1/locations/NYC_USA', { headers: { Authorization: `Bearer ${token}` } });

  it('answer requests on one port, with one key that both of them know', async () => {
    const tokens = await getTokens(7);
    expect(new Set(tokens.map((token) => decodeProtectedHeader(token).kid)).size).toBe(1);
    for (const token of tokens) expect((await getLocation(token)).status).toBe(200);
    await until(() => {
      const workers = logLines(service).flatMap(({ worker, token_id }) => (token_id ? [worker] : []));
      return new Set(workers).size === 2;
    }, 'both workers have issued tokens');
  });

  it('run with a small heap for young objects', () => {
    expect(service.workerPids()).toHaveLength(2);
    // Only Linux tells the arguments of another process.
    for (const file of service.workerPids().map((pid) => `/proc/${pid}/cmdline`)) {
      if (existsSync(file)) expect(readFileSync(file, 'utf8').split('\0')).toContain(SMALL_YOUNG_HEAP);
    }
  });

  it('write one log of whole lines, even when both write at once', async () => {
    await getTokens(100);
    await until(
      () => logLines(service).filter(({ event }) => event === 'token_issued').length >= 300,
      'each token has a line',
    );
  });

  it('count failed attempts together', async () => {
    const wrong = () => requestToken(service.url, { ...DEMO_TOKEN_REQUEST, client_id: 'nobody' });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await wrong()).status);
    // These two wait for more than a second before they are answered.
    for (const { status } of await Promise.all([wrong(), wrong()])) statuses.push(status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
  });

  it('are replaced when they crash, and their tokens stay valid', async () => {
    const tokens = await getTokens(3);
    for (const pid of service.workerPids()) {
      process.kill(pid, 'SIGKILL');
      const replaced = logLines(service).filter(({ event }) => event === 'worker_replaced').length;
      await until(
        () => logLines(service).filter(({ event }) => event === 'worker_replaced').length > replaced,
        'the worker is replaced',
      );
    }
    for (const token of tokens) expect((await getLocation(token)).status).toBe(200);
    const kids = tokens.concat(await getAccessToken(service.url, ID, SECRET)).map(decodeProtectedHeader);
    expect(new Set(kids.map(({ kid }) => kid)).size).toBe(1);
    await until(async () => (await send(service.managementUrl, '/readyz')).status === 200, 'the service is ready');
  });

  it('log no secret, no token and no private key', async () => {
    expect(service.program.stdout()).not.toMatch(/demo-secret|eyJ|PRIVATE|"d":/);
  });
});

describe('a service with workers', () => {
  it('stops answering when its primary is killed', async () => {
    const service = await startServiceWithWorkers();
    const pids = service.workerPids();
    service.program.process.kill('SIGKILL');
    await until(() => !pids.some(isAlive), 'the workers end too');
    await expect(requestToken(service.url, DEMO_TOKEN_REQUEST)).rejects.toThrow('ECONNREFUSED');
  });
});
