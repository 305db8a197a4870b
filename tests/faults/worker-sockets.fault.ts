import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestToken } from '../support/http.ts';
import { isAlive, runProgram } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceWithWorkers, startServiceWithWorkers } from '../support/service-with-workers.ts';
import { socketsOf } from '../support/sockets-of.ts';
import { until } from '../support/until.ts';

/** How often an event is in the log. */
function logged({ program }: ServiceWithWorkers, event: string): number {
  return program.stdout().split(`"event":"${event}"`).length - 1;
}

/** The status of each of that many requests, on a new connection each; 0 if the connection was reset or refused. Never rejects. */
function statuses(service: ServiceWithWorkers, count: number): Promise<readonly number[]> {
  const ask = () =>
    requestToken(service.url, DEMO_TOKEN_REQUEST).then(
      ({ status }) => status,
      () => 0,
    );
  return Promise.all(Array.from({ length: count }, ask));
}

/** Resolves when the calls are over, however they ended. Fails if a caller still waits after a minute. */
async function allEnd(calls: Promise<readonly number[]>): Promise<readonly number[]> {
  let ended: readonly number[] | undefined;
  void calls.then((values) => {
    ended = values;
  });
  await until(() => ended !== undefined, 'each call has an answer or a reset');
  return ended ?? [];
}

const WITHOUT_REUSE_PORT = ['--import', './tests/support/without-reuse-port.ts'];

describe.each([
  ['sockets of their own', []],
  ['one socket, on a system without SO_REUSEPORT', WITHOUT_REUSE_PORT],
])('workers with %s', (_name, nodeArgs) => {
  let service: ServiceWithWorkers;
  beforeAll(async () => {
    service = await startServiceWithWorkers({}, nodeArgs);
  });
  afterAll(async () => service.program[Symbol.asyncDispose]());

  it('answer on one port, and both of them do', async () => {
    await until(async () => {
      expect(await statuses(service, 20)).toEqual(Array.from({ length: 20 }, () => 200));
      const answering = service.program.stdout().matchAll(/"worker":(\d+),"request_id"/g);
      return new Set([...answering].map(([, id]) => id)).size === 2;
    }, 'both workers have answered');
  });

  it('leave no caller and no connection behind when they are killed while they do not accept', async () => {
    const pid = service.program.process.pid ?? 0;
    const before = socketsOf(pid);
    for (let kills = 1; kills <= 4; kills += 1) {
      const worker = service.aWorkerPid();
      process.kill(worker, 'SIGSTOP');
      const issued = logged(service, 'token_issued');
      const calls = statuses(service, 20);
      await until(() => logged(service, 'token_issued') > issued, 'the other worker answers');
      process.kill(worker, 'SIGKILL');
      for (const status of await allEnd(calls)) expect([0, 200]).toContain(status);
      await until(() => logged(service, 'worker_replaced') === kills, 'the worker is replaced');
    }
    await until(() => socketsOf(pid) === before, 'the primary holds what it held before');
    expect(await statuses(service, 20)).toEqual(Array.from({ length: 20 }, () => 200));
  });

  it('end with the service', async () => {
    const pids = service.workerPids();
    expect(pids).toHaveLength(2);
    service.program.process.kill('SIGTERM');
    expect(await service.program.ended()).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

describe('a worker that hangs', () => {
  it.each([
    // 3 s where the primary gets a CPU. Before workers had their own sockets it was 10 to 12 s.
    ['its process is stopped', 'SIGSTOP', 8_000],
    // 3 s of its own time, and at most 10 s on a busy machine.
    ['its event loop is blocked', 'SIGUSR2', Infinity],
  ] as const)('gets no more connections: %s', async (_name, signal, withinMs) => {
    const service = await startServiceWithWorkers({}, ['--import', './tests/support/block-on-signal.ts']);
    await using _program = service.program;
    const worker = service.aWorkerPid();
    const since = performance.now();
    process.kill(worker, signal);
    const calls = statuses(service, 20);
    await service.program.printed(/"event":"worker_hangs"/);
    expect(performance.now() - since).toBeLessThan(withinMs);
    for (const status of await allEnd(calls)) expect([0, 200]).toContain(status);
    await service.program.printed(/"event":"worker_replaced"/);
    expect(isAlive(worker)).toBe(false);
    expect(await statuses(service, 20)).toEqual(Array.from({ length: 20 }, () => 200));
  });
});

describe('the port of workers', () => {
  it('is one for all of them if the system chooses it', async () => {
    const service = await startServiceWithWorkers({ PORT: '0', BASE_URL: 'http://issuer.test' });
    await using _program = service.program;
    const [, port] = await service.program.printed(/"event":"started".*"port":(\d+)/);
    const url = `http://127.0.0.1:${port}`;
    expect(await statuses({ ...service, url }, 20)).toEqual(Array.from({ length: 20 }, () => 200));
  });

  it('is not shared with another service', async () => {
    const service = await startServiceWithWorkers();
    await using _program = service.program;
    await using other = runProgram('config/main.ts', {
      CLIENT_REPOSITORY: 'memory',
      CLIENTS_FILE: 'config/demo/clients.json',
      PORT: new URL(service.url).port,
      MANAGEMENT_PORT: '0',
      WORKERS: '2',
    });
    expect(await other.ended()).toBe(1);
    expect(other.stderr()).toContain('EADDRINUSE');
    expect(other.stdout()).toBe('');
  });
});
