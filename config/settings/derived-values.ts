import type { ListeningPlace } from '../../adapters/system/listen-problem.ts';
import { type OpenFilesPlan, openFilesLimit } from '../../adapters/system/open-files.ts';
import type { KeyPolicy } from '../../domain/key-chain.ts';
import type { TokenPolicyOptions } from '../../domain/token-policy.ts';
import type { Settings } from './settings.ts';

// What parts of the service take from several settings, in their own words.

export function keyPolicy(settings: Settings): KeyPolicy {
  return {
    algorithm: settings.TOKEN_SIGNING_ALG,
    rotationSeconds: settings.KEY_ROTATION_SECONDS || Infinity,
    publicationSeconds: settings.KEY_PUBLICATION_SECONDS,
    tokenLifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
  };
}

export function tokenPolicyOptions(settings: Settings): TokenPolicyOptions {
  return {
    issuer: settings.TOKEN_ISSUER,
    lifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
    profile: settings.TOKEN_PROFILE,
    audience: settings.TOKEN_AUDIENCE,
    scopeClaim: settings.TOKEN_SCOPE_CLAIM ? 'array' : 'absent',
  };
}

/** Where the service listens. */
export function listeningPlaces({ HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT }: Settings): readonly ListeningPlace[] {
  return [
    { portSetting: 'PORT', hostSetting: 'HOST', host: HOST, port: PORT },
    { portSetting: 'MANAGEMENT_PORT', hostSetting: 'MANAGEMENT_HOST', host: MANAGEMENT_HOST, port: MANAGEMENT_PORT },
  ];
}

/** Connections to the management port. Only probes and Prometheus connect to it. */
export const MANAGEMENT_CONNECTIONS_MAX = 100;

/** Fewer connections are not enough for a worker to answer other requests while a table that some need is locked. */
const WORKER_CONNECTIONS_MIN = 3;

/** Connections to the database for look-ups, of each process that answers requests. */
export function lookUpConnections({ DATABASE_POOL_SIZE, WORKERS }: Settings): number {
  return WORKERS === 1
    ? DATABASE_POOL_SIZE
    : Math.max(WORKER_CONNECTIONS_MIN, Math.floor(DATABASE_POOL_SIZE / WORKERS));
}

/** What the files are for that each process of the service may open. */
export function openFilesPlan({ DATABASE_POOL_SIZE, WORKERS }: Settings): OpenFilesPlan {
  return { limit: openFilesLimit(), reserved: MANAGEMENT_CONNECTIONS_MAX + DATABASE_POOL_SIZE + WORKERS };
}
