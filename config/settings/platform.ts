import { existsSync } from 'node:fs';
import type { Problem } from '../../domain/problem.ts';
import type { Environment } from './read-environment.ts';

/**
 * Platforms whose router connects from outside of the machine, by a variable that each of them sets. Fly.io has
 * networks of IPv6.
 */
const PLATFORMS = {
  K_SERVICE: '0.0.0.0', // Cloud Run
  RENDER: '0.0.0.0',
  DYNO: '0.0.0.0', // Heroku
  FLY_APP_NAME: '::',
};

/** The problem of `hostHint`, and the event of the log. */
export const HOST_NOT_SET = 'host_not_set';

/** The environment with `HOST`, where a platform needs another one than the default. */
export function withHostOfPlatform(environment: Environment): Environment {
  const [, HOST] = Object.entries(PLATFORMS).find(([name]) => environment[name]) ?? [];
  return HOST === undefined || environment['HOST'] ? environment : { ...environment, HOST };
}

/**
 * What to set where a port is given but nobody can connect to it; undefined where all is well, as far as one can tell
 * from here.
 */
export function hostHint(environment: Environment, inContainer = isContainer()): Problem | undefined {
  const { PORT, HOST } = withHostOfPlatform(environment);
  if (!PORT || HOST || !inContainer) return undefined;
  const text = 'HOST is not set, so that only this container reaches PORT';
  return { code: HOST_NOT_SET, text, fix: 'set HOST=0.0.0.0 if others connect to it' };
}

/** Files that Docker and Podman put into each container. */
function isContainer(): boolean {
  return ['/.dockerenv', '/run/.containerenv'].some((file) => existsSync(file));
}
