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

/** The environment with `HOST`, where a platform needs another one than the default. */
export function withHostOfPlatform(environment: Environment): Environment {
  const [, HOST] = Object.entries(PLATFORMS).find(([name]) => environment[name]) ?? [];
  return HOST === undefined || environment['HOST'] ? environment : { ...environment, HOST };
}
