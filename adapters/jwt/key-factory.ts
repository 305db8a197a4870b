import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { KeyFactory } from '../../application/ports/key-factory.ts';
import { MODULUS_BITS_MIN } from '../../application/ports/key-provider.ts';
import { keyPairOf, readPublicKey } from './key-pair.ts';
import type { PrivateKeys } from './private-keys.ts';
import type { KeyFile } from './read-key-file.ts';

export interface KeyFactoryParts {
  readonly ids: IdGenerator;
  /** The key of KEY_FILE, where there is one. */
  readonly file?: KeyFile | undefined;
  /** Where to add each private key, if it has to be sent to workers. */
  readonly privateKeys?: Pick<PrivateKeys, 'add'> | undefined;
}

/**
 * Makes RSA-2048 key pairs in memory, with UUIDs as key ids. They are never written anywhere and end with the service. With
 * a key file, it returns the one key of that file, which survives restarts; its id is the `kid` of the file, or else its
 * thumbprint (RFC 7638), and never changes.
 */
export function createKeyFactory({ ids, file, privateKeys }: KeyFactoryParts): KeyFactory {
  return {
    read: readPublicKey,
    async make() {
      const [kid, key] = await (file === undefined ? generate(ids) : fromFile(file));
      privateKeys?.add(kid, key);
      return keyPairOf(kid, key);
    },
  };
}

async function generate(ids: IdGenerator): Promise<[string, KeyObject]> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS_MIN });
  return [ids.uuid(), privateKey];
}

async function fromFile({ key, kid }: KeyFile): Promise<[string, KeyObject]> {
  return [kid ?? (await calculateJwkThumbprint(createPublicKey(key))), key];
}
