import { spawn } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { followProgram, type Program } from '../support/program.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
import { until } from '../support/until.ts';

const FILE = new URL('../../adapters/system/watchdog.ts', import.meta.url);

/** Blocks the event loop without using the CPU, so that a busy machine makes no difference. */
const waitFor = (ms: number) => `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms});`;

/** Twice as long as an event loop may hang. */
const WAIT = waitFor(2_000);

/** What a process writes that hangs. */
const REPORT = /^\{"level":"fatal","time":"[^"]+Z","event":"event_loop_hangs","seconds":1\}\n$/;

/**
 * The arguments of a Node.js that runs this code with a `Watchdog` named `watchdog`, for which an event loop hangs
 * after a second.
 */
function argumentsFor(code: string): readonly string[] {
  const script = `const { Watchdog } = await import('${FILE}'); const watchdog = new Watchdog(1_000); ${code}`;
  return ['--no-warnings', '--input-type=module', '-e', script];
}

function start(code: string, nodeArgs: readonly string[]): Program {
  return followProgram(spawn(process.execPath, [...nodeArgs, ...argumentsFor(code)]));
}

async function run(code: string, nodeArgs: readonly string[] = []) {
  await using program = start(code, nodeArgs);
  const exitCode = await program.ended();
  return { exitCode, signal: program.process.signalCode, errors: program.stderr() };
}

describe('a deadline', () => {
  it('ends a process whose event loop is blocked for ever', async () => {
    expect(await run('watchdog.endAfter(50); for (;;);')).toMatchObject({ signal: 'SIGKILL' });
  });

  it('ends a process whose exit handler is blocked for ever', async () => {
    const code = `process.on('exit', () => { for (;;); }); watchdog.endAfter(50);`;
    expect(await run(code)).toMatchObject({ signal: 'SIGKILL' });
  });

  it('does not keep a process alive that ends in time', async () => {
    expect(await run('watchdog.watch(); watchdog.endAfter(120_000);')).toMatchObject({ exitCode: 0, signal: null });
  });

  it('counts from the last call', async () => {
    const code = 'watchdog.endAfter(1); watchdog.endAfter(120_000); setTimeout(() => {}, 300);';
    expect(await run(code)).toMatchObject({ exitCode: 0, signal: null });
  });
});

describe('an event loop that is watched', () => {
  it.each([
    ['is busy for ever', 'for (;;);'],
    ['waits for ever', waitFor(Infinity)],
  ])('ends the process with a line that says why, when it %s', async (_, blocked) => {
    const { signal, errors } = await run(`watchdog.watch(); setTimeout(() => { ${blocked} }, 100);`);
    expect({ signal, errors }).toEqual({ signal: 'SIGKILL', errors: expect.stringMatching(REPORT) });
  });

  it('ends the process even if nobody reads its standard error, which is full', async () => {
    using pipe = new UnreadPipe();
    pipe.fill();
    const script = ['-c', 'exec "$@" 2> "$0"', pipe.path, process.execPath];
    await using program = followProgram(spawn('sh', [...script, ...argumentsFor('watchdog.watch(); for (;;);')]));
    await program.ended();
    expect(program.process.signalCode).toBe('SIGKILL');
  });

  it('is not found to hang after the process was stopped for longer', async () => {
    const block = `process.on('SIGUSR2', () => { ${waitFor(Infinity)} });`;
    await using program = start(`watchdog.watch(); setInterval(() => console.log('turn'), 100); ${block}`, []);
    const turns = () => program.stdout().split('turn').length;
    await program.printed(/turn/);
    program.process.kill('SIGSTOP');
    const stoppedAt = performance.now();
    await until(() => performance.now() > stoppedAt + 2_000, 'that time has passed');
    const before = turns();
    program.process.kill('SIGCONT');
    await until(() => turns() > before + 10, 'the process goes on');
    expect(program.process.signalCode).toBeNull();
    program.process.kill('SIGUSR2');
    await until(() => program.process.signalCode === 'SIGKILL', 'a hang is found afterwards');
  });

  it('may be paused by an inspector that is open from the beginning', async () => {
    const code = `watchdog.watch(); setTimeout(() => { ${WAIT} process.exit(7); }, 100);`;
    expect(await run(code, ['--inspect=127.0.0.1:0'])).toMatchObject({ exitCode: 7 });
  });

  it('may be paused by an inspector that SIGUSR1 opens', async () => {
    const code = `
      const { default: inspector } = await import('node:inspector');
      watchdog.watch();
      process.kill(process.pid, 'SIGUSR1');
      while (inspector.url() === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
      // The event loop has turned since.
      setTimeout(() => { ${WAIT} process.exit(7); }, 500);`;
    expect(await run(code, ['--inspect-port=127.0.0.1:0'])).toMatchObject({ exitCode: 7 });
  });

  it('may block for long before it is watched', async () => {
    expect(await run(`watchdog.endAfter(120_000); ${WAIT}`)).toMatchObject({ exitCode: 0 });
  });
});
