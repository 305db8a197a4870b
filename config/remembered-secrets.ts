import { randomBytes } from 'node:crypto';
import { RememberedSecrets } from '../adapters/secrets/verified-secret-cache.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { Settings } from './settings/settings.ts';

/** Under a key that nobody else has. */
export function createRememberedSecrets(settings: Settings, clock: Clock): RememberedSecrets {
  return new RememberedSecrets(clock, randomBytes(32), settings.CLIENT_SECRET_REMEMBERED_SECONDS);
}
