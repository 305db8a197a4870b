import { closeSync, openSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { runProgram, runProgramOn } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceOn } from '../support/service-without-log.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
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

describe('a process that ends before its log is written', () => {
  /** A second batch waits while the first one is written. */
  const code = (end: string) => `
    import { openLogLines } from './adapters/log/json-log.ts';
    const lines = openLogLines();
    for (let number = 0; number < 1_000; number += 1) lines.write(number + '\\n');
    setImmediate(() => {
      for (let number = 1_000; number < 2_000; number += 1) lines.write(number + '\\n');
      ${end}
    });`;
  const all = Array.from({ length: 2_000 }, (_, number) => number);

  it.each(['process.exit(3);', "throw new Error('unforeseen');"])('writes everything at its end: %s', async (end) => {
    await using program = runProgram('--input-type=module', {}, ['--eval', code(end)]);
    expect(await program.ended()).toBeGreaterThan(0);
    expect(
      program
        .stdout()
        .trim()
        .split('\n')
        .map(Number)
        .toSorted((one, other) => one - other),
    ).toEqual(all);
  });

  it('does not wait for a reader that does not read, or for a full disk', async () => {
    using pipe = new UnreadPipe();
    pipe.fill();
    const full = openSync('/dev/full', 'w');
    for (const stdout of [pipe.writer, full]) {
      await using program = runProgramOn(stdout, '--input-type=module', {}, 'inherit', [
        '--eval',
        code('process.exit(3);'),
      ]);
      await until(() => program.exitCode !== null, 'the process has ended');
      expect(program.exitCode).toBe(3);
    }
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
