import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { startServiceWithWorkers } from '../support/service-with-workers.ts';

const SMALL_YOUNG_HEAP = '--max-semi-space-size=8';

describe('the worker processes', () => {
  it('run with a small heap for young objects', async () => {
    const { program, workerPids } = await startServiceWithWorkers();
    await using _program = program;
    expect(workerPids()).toHaveLength(2);
    // Only Linux tells the arguments of another process.
    for (const file of workerPids().map((pid) => `/proc/${pid}/cmdline`)) {
      if (existsSync(file)) expect(readFileSync(file, 'utf8').split('\0')).toContain(SMALL_YOUNG_HEAP);
    }
  });
});
