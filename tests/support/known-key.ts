import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { ALGORITHMS } from '../../adapters/jwt/algorithms.ts';
import { createKeyFactory } from '../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import type { KeyFactory } from '../../application/ports/key-provider.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import { threadsAtOnce } from './at-once.ts';

/** A key factory whose one private key the test knows, to sign with it what the service would not. */
export function knownKeyFactory(algorithm: TokenAlgorithm = 'RS256'): {
  readonly factory: KeyFactory;
  readonly kid: string;
  readonly privateKey: KeyObject;
} {
  const [type, options] = ALGORITHMS[algorithm].generate;
  const { privateKey } = (generateKeyPairSync as GenerateKeyPair)(type, options);
  const kid = randomUUID();
  const factory = createKeyFactory({
    ids: new RandomIdGenerator(),
    threads: threadsAtOnce,
    file: { key: privateKey, kid },
  });
  return { factory, kid, privateKey };
}

/** Its overloads need a literal as the type. */
type GenerateKeyPair = (type: string, options: object) => { readonly privateKey: KeyObject };
