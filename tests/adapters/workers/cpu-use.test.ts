import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { readCpuUse } from '../../../adapters/workers/heartbeat.ts';
import { until } from '../../support/until.ts';

describe('readCpuUse', () => {
  it('tells a process that runs from one that is stopped, and from one that has ended; on Linux only', async () => {
    if (process.platform !== 'linux') return expect(readCpuUse(process.pid)).toBeUndefined();
    const child = spawn(process.execPath, ['-e', 'for (;;);']);
    await until(() => (readCpuUse(child.pid)?.ms ?? 0) > 100, 'the process has run');
    expect(readCpuUse(child.pid)?.isRunnable).toBe(true);
    child.kill('SIGSTOP');
    await until(() => readCpuUse(child.pid)?.isRunnable === false, 'the process is stopped');
    const { ms } = readCpuUse(child.pid) ?? {};
    expect(readCpuUse(child.pid)).toEqual({ ms, isRunnable: false });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(readCpuUse(child.pid)).toBeUndefined();
  });
});
