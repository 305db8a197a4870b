import type { KeyTimes } from '../../domain/key-schedule.ts';
import type { TokenPolicyOptions } from '../../domain/token-policy.ts';
import type { Settings } from './settings.ts';

// The settings in the words of the domain.

export function keyTimes(settings: Settings): KeyTimes {
  return {
    rotationSeconds: settings.KEY_ROTATION_SECONDS,
    publicationSeconds: settings.KEY_PUBLICATION_SECONDS,
    tokenLifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
    // The next key is needed at a rotation, and when one in a shared directory is revoked. A key file has no other key.
    standby:
      settings.KEY_FILE === undefined && (settings.KEY_ROTATION_SECONDS !== 0 || settings.KEY_DIRECTORY === 'postgres'),
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
