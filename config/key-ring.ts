import { KeyRing, type KeyRingParts } from '../application/keys/key-ring.ts';
import { KeySchedule } from '../domain/key-schedule.ts';
import type { Settings } from './settings/settings.ts';

/** The keys of this process and of its peers. No key is generated before the first `advance`. */
export function createKeyRing(settings: Settings, parts: Omit<KeyRingParts, 'schedule'>): KeyRing {
  return new KeyRing({ ...parts, schedule: createKeySchedule(settings) });
}

export function createKeySchedule(settings: Settings): KeySchedule {
  return new KeySchedule({
    rotationSeconds: settings.KEY_ROTATION_SECONDS,
    publicationSeconds: settings.KEY_PUBLICATION_SECONDS,
    tokenLifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
  });
}
