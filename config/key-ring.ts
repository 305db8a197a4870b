import { SharedKeys } from '../application/keys/directory-keys.ts';
import { KeyRing } from '../application/keys/key-ring.ts';
import { KeySchedule } from '../domain/key-schedule.ts';
import type { Settings } from './settings/settings.ts';
import { type Get, TOKENS } from './tokens.ts';

/** The keys of this process and of its fellow replicas. Nothing is made before the first `advance`. */
export function createKeyRing(settings: Settings, get: Get): KeyRing {
  const factory = get(TOKENS.keyFactory);
  const clock = get(TOKENS.clock);
  const schedule = createKeySchedule(settings);
  return new KeyRing({
    factory,
    shared: new SharedKeys(get(TOKENS.keyDirectory), factory, schedule, clock),
    schedule,
    clock,
    auditLog: get(TOKENS.auditLog),
  });
}

export function createKeySchedule(settings: Settings): KeySchedule {
  return new KeySchedule({
    rotationSeconds: settings.KEY_ROTATION_SECONDS,
    publicationSeconds: settings.KEY_PUBLICATION_SECONDS,
    tokenLifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
  });
}
