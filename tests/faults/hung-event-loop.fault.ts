import { describe, expect, it } from '@jest/globals';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** Longer than an event loop may hang. */
const STOPPED_MS = 12_000;

/** On SIGUSR2 the event loop waits for ever, without using the CPU. */
const BLOCK = "process.on('SIGUSR2', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))";

async function startService() {
  const settings = { PORT: '0', BASE_URL: 'http://issuer.test', MANAGEMENT_PORT: '0', SHUTDOWN_GRACE_MS: '0' };
  const clients = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'config/demo/clients.json' };
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(BLOCK)}`];
  const program = runProgram('config/main.ts', { ...clients, ...settings }, [], nodeArgs);
  const [, port] = await program.printed(/"event":"started".*"port":(\d+)/);
  return { program, request: () => requestToken(`http://127.0.0.1:${port}`, DEMO_TOKEN_REQUEST) };
}

describe('the service', () => {
  it('is killed if its event loop hangs, so that a supervisor restarts it, and says why on standard error', async () => {
    const { program, request } = await startService();
    await using _program = program;
    expect((await request()).status).toBe(200);
    program.process.kill('SIGUSR2');
    await program.ended();
    expect(program.process.signalCode).toBe('SIGKILL');
    expect(program.stderr()).toMatch(/^\{"level":"fatal",.*"event":"event_loop_hangs","seconds":10\}$/m);
  });

  it('issues tokens after its process was stopped for longer, without a restart', async () => {
    const { program, request } = await startService();
    await using _program = program;
    program.process.kill('SIGSTOP');
    const stoppedAt = performance.now();
    await until(() => performance.now() > stoppedAt + STOPPED_MS, 'that time has passed');
    program.process.kill('SIGCONT');
    expect((await request()).status).toBe(200);
    program.process.kill('SIGTERM');
    expect(await program.ended()).toBe(0);
  });
});
