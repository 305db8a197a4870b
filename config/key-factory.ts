import { FileKeyFactory } from '../adapters/jwt/file-key-factory.ts';
import { InMemoryKeyFactory } from '../adapters/jwt/in-memory-key-factory.ts';
import type { PrivateKeys } from '../adapters/jwt/private-keys.ts';
import type { KeyFile } from '../adapters/jwt/read-key-file.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import type { KeyFactory } from '../application/ports/key-factory.ts';

/** The key of KEY_FILE if there is one, or else keys that are made in memory. */
export function createKeyFactory(
  keyFile: KeyFile | undefined,
  ids: IdGenerator,
  privateKeys?: PrivateKeys,
): KeyFactory {
  return keyFile ? new FileKeyFactory(keyFile, privateKeys) : new InMemoryKeyFactory(ids, privateKeys);
}
