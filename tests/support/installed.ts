import { spawnSync } from 'node:child_process';
import { notTested } from './not-tested.ts';

/** Whether this machine has a program that a test can do without. The end of the output says so if not. */
export function isInstalled(program: string): boolean {
  const found = spawnSync(program, ['--version']).status === 0;
  if (!found) notTested(`Not everything is tested, because ${program} is not installed.`);
  return found;
}

interface Skippable {
  readonly skip: unknown;
}

/**
 * The function for tests (`describe` or `it`), or the one that skips them where the machine lacks what npm cannot
 * install: a program, a shell or IPv6. A test that is skipped is counted, and the machines that decide about a change
 * have these programs.
 */
export function where<Tests extends Skippable>(isThere: boolean, tests: Tests): Tests {
  return isThere ? tests : (tests.skip as Tests);
}
