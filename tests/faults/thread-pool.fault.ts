import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { availableCores } from '../../adapters/system/host-limits.ts';
import { poolBounds, threadsFor } from '../../adapters/system/thread-pool.ts';
import { requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const THREADS = threadsFor(poolBounds(availableCores()));

/**
 * Wrong secrets that wait at once. Each of them takes about 50 ms of a core. With the tokens, they are fewer requests
 * than are admitted while the event loop is late, as it may be on a busy machine.
 */
const FLOOD = 30;
const TOKENS = 60;

const request = (client_id: string, client_secret: string) => ({
  grant_type: 'client_credentials',
  client_id,
  client_secret,
});

describe("a service whose operator has set another size of libuv's pool", () => {
  let folder: string;
  let service: ServiceProcess;
  const start = async () => {
    folder = mkdtempSync(join(tmpdir(), 'pool-'));
    const [clients, pipe] = [join(folder, 'clients.json'), join(folder, 'pipe')];
    const client_secret = await bcrypt.hash('its-secret', 10);
    const registered = ['cached', 'new'].map((id) => ({
      client_id: id,
      client_secret,
      client_name: id,
      scope: 'read',
    }));
    writeFileSync(clients, JSON.stringify(registered));
    execFileSync('mkfifo', [pipe]);
    const settings = {
      CLIENTS_FILE: clients,
      CLIENT_FAILURES_PER_MINUTE: '0',
      UV_THREADPOOL_SIZE: '1',
      HANGING_PIPE: pipe,
      HANGING_THREADS: String(THREADS / 2),
    };
    const preload = new URL('../support/hang-pool-on-signal.ts', import.meta.url);
    service = await startServiceProcess(settings, ['--import', String(preload)]);
    expect((await requestToken(service.url, request('cached', 'its-secret'))).status).toBe(200);
  };
  const end = async () => {
    await service.program[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  };
  beforeAll(start);
  afterAll(end);

  const refused = async () => {
    const samples = readSamples((await send(service.managementUrl, '/metrics')).text);
    return total(samples, 'auth_requests_total', { status: '401' });
  };
  const startFlood = async () => {
    const guesses = Array.from({ length: FLOOD }, (_, number) =>
      requestToken(service.url, request(`unknown-${number}`, 'a-guess')),
    );
    await until(async () => {
      const samples = readSamples((await send(service.managementUrl, '/metrics')).text);
      return total(samples, 'auth_secret_verifications_running') > 0;
    }, 'the flood is verified');
    return guesses;
  };

  if (process.platform === 'linux') {
    it('has the threads that its bounds need', async () => {
      const tasks = `/proc/${service.program.process.pid}/task`;
      const names = readdirSync(tasks).map((id) => readFileSync(`${tasks}/${id}/comm`, 'utf8').trim());
      expect(names.filter((name) => name === 'libuv-worker')).toHaveLength(THREADS);
    });
  }

  it('signs many tokens beside a flood of wrong secrets, in the time of a few of their verifications', async () => {
    const guesses = await startFlood();
    const before = await refused();
    const tokens = await Promise.all(
      Array.from({ length: TOKENS }, () => requestToken(service.url, request('cached', 'its-secret'))),
    );
    const verified = (await refused()) - before;
    expect(tokens.map(({ status }) => status)).toEqual(tokens.map(() => 200));
    expect(verified).toBeLessThan(TOKENS / 4);
    await Promise.all(guesses);
  });

  it('ends in time at SIGTERM with a flood of secrets that wait for their verification', async () => {
    const guesses = (await startFlood()).map((guess) => guess.catch(() => undefined));
    service.program.process.kill('SIGTERM');
    // Not by SIGKILL, with which a process ends that is late.
    expect(await service.program.ended()).toBe(0);
    for (const guess of await Promise.all(guesses)) expect([200, 401, 503, undefined]).toContain(guess?.status);
  });

  it('issues tokens and verifies secrets while half of the pool hangs, as it does when a name server is lost', async () => {
    await end();
    await start();
    service.program.process.kill('SIGUSR2');
    await service.program.printed(/the threads hang/);
    expect((await requestToken(service.url, request('cached', 'its-secret'))).status).toBe(200);
    expect((await requestToken(service.url, request('new', 'its-secret'))).status).toBe(200);
    expect((await requestToken(service.url, request('new', 'a-guess'))).status).toBe(401);
  });
});
