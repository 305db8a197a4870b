import { DirectoryKeys } from '../application/keys/directory-keys.ts';
import { KeyRing, type KeyRingParts } from '../application/keys/key-ring.ts';
import type { KeyDirectory } from '../application/ports/key-directory.ts';
import { KeySchedule } from '../domain/key-schedule.ts';
import type { Settings } from './settings/settings.ts';

/** The keys of this process and of its peers. No key is generated before the first `advance`. */
export function createKeyRing(
  settings: Settings,
  parts: Pick<KeyRingParts, 'factory' | 'clock' | 'auditLog'> & { readonly directory: KeyDirectory },
): KeyRing {
  const { factory, clock, auditLog, directory } = parts;
  const schedule = createKeySchedule(settings);
  return new KeyRing({
    factory,
    shared: new DirectoryKeys(directory, factory, schedule, clock),
    schedule,
    clock,
    auditLog,
  });
}

export function createKeySchedule(settings: Settings): KeySchedule {
  return new KeySchedule({
    rotationSeconds: settings.KEY_ROTATION_SECONDS,
    publicationSeconds: settings.KEY_PUBLICATION_SECONDS,
    tokenLifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
  });
}
