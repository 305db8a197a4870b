import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { availableCores, connectionsInMemory, memoryLimit } from '../../../adapters/system/host-limits.ts';

const MIB = 1_048_576;
const GIB = 1_024 * MIB;

describe('the memory limit', () => {
  it('is that of the container if it has a limit, and otherwise that of the machine', () => {
    expect(memoryLimit(8 * GIB, 256 * MIB)).toBe(256 * MIB);
    expect(memoryLimit(8 * GIB, 0)).toBe(8 * GIB);
    // Cgroup v1 without a limit.
    expect(memoryLimit(8 * GIB, 9_223_372_036_854_772_000)).toBe(8 * GIB);
  });
});

describe('the memory for connections', () => {
  it.each([
    [100 * MIB, 64, 64],
    [256 * MIB, 1_024, 512],
    [320 * MIB, 2_048, 1_024],
    [512 * MIB, 5_120, 2_560],
  ])('of %d bytes is enough for %d, and for %d with TLS', (bytes, plain, tls) => {
    expect(connectionsInMemory('plain', bytes)).toBe(plain);
    expect(connectionsInMemory('tls', bytes)).toBe(tls);
  });
});

describe('availableCores', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cgroup-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it.each([
    ['100000', '100000', 1],
    ['200000', '100000', 2],
    ['250000', '100000', 2],
    ['50000', '100000', 1],
    ['800000', '100000', 4],
    ['-1', '100000', 4],
    ['0', '100000', 4],
    ['max', '100000', 4],
    ['100000', '0', 4],
  ])('with a quota of %s in %s microseconds, of 4 cores, is %d', async (quota, period, cores) => {
    await writeFile(join(folder, 'cpu.cfs_quota_us'), `${quota}\n`);
    await writeFile(join(folder, 'cpu.cfs_period_us'), `${period}\n`);
    expect(availableCores(4, folder)).toBe(cores);
  });

  it('is what Node.js finds where there is no cgroup v1', () => {
    expect(availableCores(4, folder)).toBe(4);
    expect(availableCores(availableParallelism(), join(folder, 'missing'))).toBe(availableParallelism());
  });
});
