import { spawnSync } from 'node:child_process';

/** Whether this machine has a program that a test can do without. Says so on standard error if not. */
export function isInstalled(program: string): boolean {
  const found = spawnSync(program, ['--version']).status === 0;
  if (!found) process.stderr.write(`Not everything is tested, because ${program} is not installed.\n`);
  return found;
}
