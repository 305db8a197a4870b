import { execFileSync } from 'node:child_process';
import type { Program } from '../support/program.ts';

/** Lets a process write no file beyond that many bytes: a write that reaches the limit is cut, as on a full disk. */
export function limitFiles({ process }: Program, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:unlimited`]);
}
