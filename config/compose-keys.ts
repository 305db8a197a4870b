import { FileKeyFactory } from '../adapters/jwt/file-key-factory.ts';
import { InMemoryKeyFactory } from '../adapters/jwt/in-memory-key-factory.ts';
import type { PrivateKeys } from '../adapters/jwt/private-keys.ts';
import type { KeyFile } from '../adapters/jwt/read-key-file.ts';
import { KeyRing, type KeyRingParts } from '../application/keys/key-ring.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import type { KeyFactory } from '../application/ports/key-factory.ts';
import { KeySchedule } from '../domain/key-schedule.ts';
import type { Settings } from './settings/settings.ts';

/** The key of KEY_FILE if there is one, or else keys that are made in memory. */
export function createKeyFactory(
  keyFile: KeyFile | undefined,
  ids: IdGenerator,
  privateKeys: PrivateKeys | undefined,
): KeyFactory {
  return keyFile ? new FileKeyFactory(keyFile, privateKeys) : new InMemoryKeyFactory(ids, privateKeys);
}

/** The keys of this process and of its peers. No key is made before the first `advance`. */
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
