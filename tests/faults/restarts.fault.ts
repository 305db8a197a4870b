import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { Balancer } from '../support/balancer.ts';
import { requestToken } from '../support/http.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

const RESTARTS = 20;
const CALLERS = 6;

describe('restarts', () => {
  it(`lose no request: ${RESTARTS} of them, one replica after the other, under load behind a balancer`, async () => {
    const backends = [await freeBackend(), await freeBackend()];
    const replicas = backends.map((backend) => startReplica(backend));
    const balancer = await Balancer.start(backends);
    const lost: string[] = [];
    let answered = 0;
    let running = true;
    const call = async () => {
      while (running) {
        const response = await requestToken(balancer.url, DEMO_TOKEN_REQUEST).catch((error: Error) => ({
          status: 0,
          text: error.message,
        }));
        if (response.status === 200) answered += 1;
        else lost.push(`${response.status} ${response.text}`);
      }
    };
    try {
      await until(() => backends.every((backend) => balancer.isReady(backend)), 'both replicas are ready');
      const callers = Array.from({ length: CALLERS }, call);
      for (let restart = 0; restart < RESTARTS; restart += 1) {
        const index = restart % 2;
        const [backend, replica] = [backends[index], replicas[index]];
        if (backend === undefined || replica === undefined) throw new Error('no replica');
        replica.process.kill('SIGTERM');
        expect(await replica.ended()).toBe(0);
        await until(() => !balancer.isReady(backend), 'the balancer notices');
        replicas[index] = startReplica(backend);
        await until(() => balancer.isReady(backend), 'the replica is ready again');
      }
      running = false;
      await Promise.all(callers);
      expect(lost).toEqual([]);
      expect(answered).toBeGreaterThan(RESTARTS * CALLERS);
    } finally {
      running = false;
      await balancer.close();
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    }
  }, 600_000);

  it('do not wait for a long queue of secret verifications: the process exits with 0, and every request is answered', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clients-'));
    const file = join(folder, 'clients.json');
    // At cost 13 a verification takes about 0.4 s of a core, and 100 of them 20 s of two cores. The queue takes all of
    // them. All times below are multiples of the time that one takes on this machine now, which may be busy.
    const begin = performance.now();
    const secret = await bcrypt.hash('its-secret', 13);
    const verificationMs = Math.ceil(performance.now() - begin);
    await writeFile(
      file,
      JSON.stringify([{ client_id: 'expensive', client_secret: secret, client_name: 'x', scope: 'x' }]),
    );
    const backend = await freeBackend();
    await using replica = startReplica(backend, {
      CLIENTS_FILE: file,
      SHUTDOWN_GRACE_MS: '0',
      // Enough for the verification that runs, also if the machine gets busier now, and much too short for the queue.
      SHUTDOWN_DRAIN_MS: String(10 * verificationMs),
    });
    await replica.printed(/"event":"started"/);

    // Ids that differ: equal attempts share a verification. A refusal of an unknown id takes as long as one of
    // `expensive`.
    const flood = Array.from({ length: 100 }, (_, index) =>
      requestToken(`http://127.0.0.1:${backend.port}`, {
        ...DEMO_TOKEN_REQUEST,
        client_id: `unknown-${index}`,
        client_secret: 'wrong-secret',
      }).catch(() => undefined),
    );
    // The first response takes at least one verification. By then the other requests have been read, and wait in the
    // queue.
    await Promise.race(flood);
    const signalledAt = performance.now();
    replica.process.kill('SIGTERM');
    expect(await replica.ended()).toBe(0);
    expect(performance.now() - signalledAt).toBeLessThan(25 * verificationMs);

    const statuses = (await Promise.all(flood)).map((response) => response?.status);
    // 401 after a verification, 503 if the shutdown came first. No connection was cut.
    expect(new Set(statuses)).toEqual(new Set([401, 503]));
    await rm(folder, { recursive: true });
  });
});
