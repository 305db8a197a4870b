import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { readCpuUse } from '../../../adapters/cluster/cpu-use.ts';
import { until } from '../../support/until.ts';

const onLinux = process.platform === 'linux' ? describe : describe.skip;

onLinux('readCpuUse', () => {
  it('tells a process that runs from one that is stopped, and from one that has ended', async () => {
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
