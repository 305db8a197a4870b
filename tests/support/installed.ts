import { spawnSync } from 'node:child_process';

/** Whether this machine has a program that a test can do without. Says so on standard error if not. */
export function isInstalled(program: string): boolean {
  const found = spawnSync(program, ['--version']).status === 0;
  if (!found) process.stderr.write(`Not everything is tested, because ${program} is not installed.\n`);
  return found;
}

interface Skippable {
  readonly skip: unknown;
}

/**
 * The function for tests (`describe` or `it`), or the one that skips them where the machine lacks what npm cannot install: a program, a
 * shell or IPv6. A test that is skipped is counted, and the machines that decide about a change have these programs.
 */
export function where<Tests extends Skippable>(isThere: boolean, tests: Tests): Tests {
  return isThere ? tests : (tests.skip as Tests);
}
