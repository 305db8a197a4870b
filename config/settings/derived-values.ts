import { CONNECTIONS_MAX } from '../../adapters/http/server/http-server.ts';
import { connectionsInMemory } from '../../adapters/system/host-limits.ts';
import type { ListeningPlace } from '../../adapters/system/listen-problem.ts';
import { connectionsWithin, type OpenFilesPlan, openFilesLimit } from '../../adapters/system/open-files.ts';
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
    namesAudience: settings.AUDIENCE_PARAMETER === 'resource',
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

/** What the files are for that the service may open. */
export function openFilesPlan({ DATABASE_POOL_SIZE }: Settings): OpenFilesPlan {
  return { limit: openFilesLimit(), reserved: MANAGEMENT_CONNECTIONS_MAX + DATABASE_POOL_SIZE };
}

/** CONNECTIONS_MAX with TLS, where a connection needs 50 KiB more, also before the end of its handshake. */
const TLS_CONNECTIONS_MAX = 4_000;

/** Connections to the public port at once: as many as memory and open files are enough for. */
export function connectionsMax(settings: Settings): number {
  const files = connectionsWithin(openFilesPlan(settings));
  if (settings.TLS_CERT_FILE === undefined) return Math.min(CONNECTIONS_MAX, connectionsInMemory('plain'), files);
  return Math.min(TLS_CONNECTIONS_MAX, connectionsInMemory('tls'), files);
}

/** How far the clocks of replicas may be apart. */
const REPLICA_LEEWAY_SECONDS = 1;

/** The clock of another replica may be a moment ahead of ours. */
export function leewaySeconds({ CLIENT_REPOSITORY: repository }: Pick<Settings, 'CLIENT_REPOSITORY'>): number {
  return repository === 'memory' ? 0 : REPLICA_LEEWAY_SECONDS;
}
