import type { KeyTimes } from '../../domain/key-schedule.ts';
import type { TokenPolicyOptions } from '../../domain/token-policy.ts';
import type { Settings } from './settings.ts';

// The settings in the words of the domain.

export function keyTimes(settings: Settings): KeyTimes {
  return {
    rotationSeconds: settings.KEY_ROTATION_SECONDS,
    publicationSeconds: settings.KEY_PUBLICATION_SECONDS,
    tokenLifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
    // Only a shared directory can revoke a key, and a key file has no other key.
    standby: settings.KEY_DIRECTORY === 'postgres' && settings.KEY_FILE === undefined,
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
