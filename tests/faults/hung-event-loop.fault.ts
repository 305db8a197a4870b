import { describe, expect, it } from '@jest/globals';
import { requestToken } from '../support/http.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceProcess } from '../support/service-process.ts';

/** On SIGUSR2 the event loop waits for ever, without using the CPU. */
const BLOCK = "process.on('SIGUSR2', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))";

describe('the service', () => {
  it('is killed if its event loop hangs, so that a supervisor restarts it, and says why on standard error', async () => {
    const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(BLOCK)}`];
    const { program, url } = await startServiceProcess({}, nodeArgs);
    await using _program = program;
    expect((await requestToken(url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    program.process.kill('SIGUSR2');
    await program.ended();
    expect(program.process.signalCode).toBe('SIGKILL');
    expect(program.stderr()).toMatch(/^\{"level":"fatal",.*"event":"event_loop_hangs","seconds":10\}$/m);
  });
});
