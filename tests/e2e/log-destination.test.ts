import { closeSync, openSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { runProgram, runProgramOn } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceOn } from '../support/service-without-log.ts';
import { until } from '../support/until.ts';

describe('a service whose standard output cannot be written', () => {
  it('issues tokens, reports the loss, and ends on SIGTERM', async () => {
    const full = openSync('/dev/full', 'w');
    await using service = await startServiceOn(full);
    for (let count = 0; count < 20; count += 1) {
      expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    }
    // Each token has two lines. Those of the first moment still wait in a buffer.
    await until(async () => (await service.linesLost()) > 20, 'lines are lost');
    await service.untilNote('log lines are lost: ENOSPC');
    expect(await service.terminate()).toBe(0);
    closeSync(full);
  });
});

describe('a program that nobody can read', () => {
  it('the doctor exits with 1, since its report is lost', async () => {
    const full = openSync('/dev/full', 'w');
    const clients = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'config/demo/clients.json' };
    const settings = { ...clients, BASE_URL: 'http://127.0.0.1:1', PORT: '0', MANAGEMENT_PORT: '0' };
    await using readable = runProgram('config/doctor.ts', settings);
    expect(await readable.ended()).toBe(0);
    await using doctor = runProgramOn(full, 'config/doctor.ts', settings, full);
    await until(() => doctor.exitCode !== null, 'the program has ended');
    expect(doctor.exitCode).toBe(1);
    closeSync(full);
  });

  it.each(['config/main.ts', 'config/demo.ts'])('%s: exits with 1 where it cannot start', async (file) => {
    const full = openSync('/dev/full', 'w');
    await using toFull = runProgramOn(full, file, { PORT: 'none' }, full);
    await until(() => toFull.exitCode !== null, 'the program has ended');
    expect(toFull.exitCode).toBe(1);
    closeSync(full);

    await using toClosed = runProgram(file, { PORT: 'none' });
    toClosed.process.stdout?.destroy();
    toClosed.process.stderr?.destroy();
    await until(() => toClosed.process.exitCode !== null, 'the program has ended');
    expect(toClosed.process.exitCode).toBe(1);
  });

  it.each(['SIGINT', 'SIGHUP'] as const)('npm run demo runs without its banner, and stops on %s', async (signal) => {
    const port = String(await freePort());
    const full = openSync('/dev/full', 'w');
    await using demo = runProgramOn(full, 'config/demo.ts', { PORT: port, SHUTDOWN_GRACE_MS: '60000' }, full);
    const url = `http://127.0.0.1:${port}`;
    await until(async () => {
      const answer = await requestToken(url, DEMO_TOKEN_REQUEST).catch(() => undefined);
      if (demo.exitCode !== null) throw new Error('the demo has ended');
      return answer?.status === 200;
    }, 'the demo issues a token');
    demo.kill(signal);
    await until(() => demo.exitCode !== null || demo.signalCode !== null, 'the demo has ended');
    expect(demo.exitCode).toBe(0);
    closeSync(full);
  });
});
