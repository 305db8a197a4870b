import { describe, expect, it } from '@jest/globals';
import { requestToken } from '../support/http.ts';
import { isAlive } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** Longer than a test may take: a test that waits for it fails. */
const NEVER_MS = '300000';

describe.each(['1', '2'])('the service with WORKERS=%s', (WORKERS) => {
  /** Starts the service with a grace time that only a second signal ends. */
  const start = () => startServiceProcess({ WORKERS, SHUTDOWN_GRACE_MS: NEVER_MS });

  async function expectSecondSignalEnds({ program, url }: ServiceProcess, second: NodeJS.Signals): Promise<void> {
    program.process.kill('SIGTERM');
    await program.printed(/"event":"stopping"/);
    // npm forwards a signal that its process group has got already: so soon, the same signal is no second request.
    program.process.kill('SIGTERM');
    expect((await requestToken(url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    const handled = performance.now();
    await until(() => second === 'SIGINT' || performance.now() - handled > 1_000, 'a second SIGTERM counts');
    program.process.kill(second);
    expect(await program.ended()).toBe(0);
    expect(program.stdout().match(/"event":"stopped"/g)).toHaveLength(1);
  }

  it('ends the grace time of a SIGTERM at SIGINT', async () => {
    const service = await start();
    await using _program = service.program;
    await expectSecondSignalEnds(service, 'SIGINT');
  });

  it('goes on after SIGHUP in every process, with a line in the log, and ends the grace time of a SIGTERM at SIGTERM', async () => {
    const service = await start();
    await using program = service.program;
    const workers = service.workerPids();
    for (const pid of workers) process.kill(pid, 'SIGHUP');
    program.process.kill('SIGHUP');
    await program.printed(/"event":"sighup_ignored"/);
    expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    expect(service.workerPids()).toEqual(workers);
    await expectSecondSignalEnds(service, 'SIGTERM');
  });

  it('ends with all of its processes after the drain time, however little they respond', async () => {
    const service = await startServiceProcess({ WORKERS, SHUTDOWN_DRAIN_MS: '0' });
    await using program = service.program;
    const pids = [program.process.pid ?? 0, ...service.workerPids()];
    program.process.kill('SIGTERM');
    await program.printed(/"event":"stopping"/);
    // They do nothing any more, except for the timer that was armed.
    for (const pid of pids.slice(1)) process.kill(pid, 'SIGSTOP');
    await program.ended();
    await until(() => !pids.some(isAlive), 'all processes have ended');
  });
});
