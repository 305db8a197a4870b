import { closeSync, openSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { runProgram, runProgramOn } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceOn } from '../support/service-without-log.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
import { until } from '../support/until.ts';

const REQUESTS = 40;

/** Each destination, with the note of /readyz if it fails. */
const DESTINATIONS = {
  'a full device': { note: 'log lines are lost: ENOSPC' },
  'a pipe that was closed': { note: 'log lines are lost: EPIPE' },
  'a full pipe that nobody reads': { note: undefined },
} as const;

describe.each(['1', '2'])('the service with WORKERS=%s, whose standard output is', (WORKERS) => {
  const pipes: UnreadPipe[] = [];
  afterEach(() => {
    for (const pipe of pipes.splice(0)) pipe[Symbol.dispose]();
  });

  function open(destination: keyof typeof DESTINATIONS): number {
    if (destination === 'a full device') return openSync('/dev/full', 'w');
    const pipe = new UnreadPipe();
    pipes.push(pipe);
    if (destination === 'a pipe that was closed') pipe.closeReader();
    else pipe.fill();
    return pipe.writer;
  }

  it.each(Object.keys(DESTINATIONS) as (keyof typeof DESTINATIONS)[])(
    '%s: issues tokens, reports the loss, and ends on SIGTERM with all of its processes',
    async (destination) => {
      await using service = await startServiceOn(open(destination), { WORKERS });
      // On a new connection each, so that both workers get some.
      for (let count = 0; count < REQUESTS; count += 1) {
        expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
      }
      const { note } = DESTINATIONS[destination];
      if (note !== undefined) {
        // Each token has two lines. Those of the first moment still wait in a buffer.
        await until(async () => (await service.linesLost()) > REQUESTS, 'lines are lost');
        await until(async () => JSON.stringify(await service.logCheck()).includes('note'), 'the note is there');
      }
      expect(await service.logCheck()).toEqual([{ name: 'log', ready: true, ...(note && { note }) }]);
      expect(await service.terminate()).toBe(0);
    },
  );

  it('a pipe that is closed and opened again: goes on, and says how many lines were lost', async () => {
    const pipe = new UnreadPipe();
    pipes.push(pipe);
    await using service = await startServiceOn(pipe.writer, { WORKERS });
    pipe.closeReader();
    await until(async () => {
      await requestToken(service.url, DEMO_TOKEN_REQUEST);
      return (await service.linesLost()) > 0;
    }, 'lines are lost');
    pipe.openReader();
    let text = '';
    await until(() => {
      text += pipe.read();
      return /"event":"log_lines_lost","lines":[1-9]/.test(text);
    }, 'the loss is logged');
    await until(async () => !JSON.stringify(await service.logCheck()).includes('note'), 'the note is removed');
    await requestToken(service.url, DEMO_TOKEN_REQUEST);
    await until(() => {
      text += pipe.read();
      return text.lastIndexOf('"event":"token_issued"') > text.indexOf('"event":"log_lines_lost"');
    }, 'the next token is logged');
    expect(await service.terminate()).toBe(0);
  });
});

describe('a program that nobody can read', () => {
  it.each(['config/main.ts', 'config/demo.ts'])('%s: exits with 1 where it cannot start', async (file) => {
    const full = openSync('/dev/full', 'w');
    await using toFull = runProgramOn(full, file, { WORKERS: 'none' }, full);
    await until(() => toFull.exitCode !== null, 'the program has ended');
    expect(toFull.exitCode).toBe(1);
    closeSync(full);

    await using toClosed = runProgram(file, { WORKERS: 'none' });
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
