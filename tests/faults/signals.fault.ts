import { describe, expect, it } from '@jest/globals';
import { requestToken } from '../support/http.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** Longer than a test may take: a test that waits for it fails. */
const NEVER_MS = '300000';

describe('the service', () => {
  /** Starts the service with a grace time that only a second signal ends. */
  const start = () => startServiceProcess({ SHUTDOWN_GRACE_MS: NEVER_MS });

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

  it('goes on after SIGHUP, with a line in the log, and ends the grace time of a SIGTERM at SIGTERM', async () => {
    const service = await start();
    await using program = service.program;
    program.process.kill('SIGHUP');
    await program.printed(/"event":"sighup_ignored"/);
    expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    await expectSecondSignalEnds(service, 'SIGTERM');
  });

  it('ends after the grace and drain times even if its event loop is blocked', async () => {
    const times = { SHUTDOWN_GRACE_MS: '3000', SHUTDOWN_DRAIN_MS: '0' };
    const { program } = await startServiceProcess(times, ['--import', './tests/faults/block-on-signal.ts']);
    await using _program = program;
    program.process.kill('SIGTERM');
    await program.printed(/"event":"stopping"/);
    program.process.kill('SIGUSR2');
    expect(await program.ended()).toBe(null);
    expect(program.process.signalCode).toBe('SIGKILL');
  });
});
