import { spawn } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';

const FILE = new URL('../../../adapters/system/exit-deadline.ts', import.meta.url);

/** A process that runs this code with an `ExitDeadline` named `deadline`. */
async function run(code: string): Promise<{ code: number | null; signal: string | null }> {
  const script = `const { ExitDeadline } = await import('${FILE}'); const deadline = new ExitDeadline(); ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
  return new Promise((resolve) => child.once('exit', (exitCode, signal) => resolve({ code: exitCode, signal })));
}

describe('ExitDeadline', () => {
  it('ends a process whose event loop is blocked for ever', async () => {
    expect(await run('deadline.arm(50); for (;;);')).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('ends a process whose exit handler is blocked for ever', async () => {
    const code = `process.on('exit', () => { for (;;); }); deadline.arm(50);`;
    expect(await run(code)).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('does not keep a process alive that ends in time', async () => {
    expect(await run('deadline.arm(120_000);')).toEqual({ code: 0, signal: null });
  });

  it('counts from the last call', async () => {
    const code = 'deadline.arm(1); deadline.arm(120_000); setTimeout(() => {}, 300);';
    expect(await run(code)).toEqual({ code: 0, signal: null });
  });
});
