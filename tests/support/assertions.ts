import { constants, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { ClientAssertion } from '../../domain/client-assertion.ts';
import type { AssertionAlgorithm, PublicJwk } from '../../domain/public-jwk.ts';
import { newRsaKey } from './pooled-key-factory.ts';

type Part = string | Uint8Array | object;

/** Makes the signature of a JWS over its signing input. */
export type Seal = (input: string) => Uint8Array;

/** The key pair of a client, which signs by one algorithm. */
interface SigningKeyPair {
  readonly algorithm: AssertionAlgorithm;
  readonly privateKey: KeyObject;
  /** Without `kid` and `alg`. */
  readonly jwk: PublicJwk;
  readonly seal: Seal;
}

const SCHEMES = {
  RS256: { hash: 'sha256' },
  PS256: { hash: 'sha256', padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
  ES256: { hash: 'sha256', dsaEncoding: 'ieee-p1363' },
  ES384: { hash: 'sha384', dsaEncoding: 'ieee-p1363' },
  EdDSA: { hash: null },
} as const;

/** Seals with any key by an algorithm, also with one that does not fit. */
export function sealedWith(algorithm: AssertionAlgorithm, key: KeyObject): Seal {
  const { hash, ...scheme } = SCHEMES[algorithm];
  return (input) => sign(hash, Buffer.from(input), { key, ...scheme });
}

export function generateSigningKey(algorithm: AssertionAlgorithm, modulusLength = 2048): SigningKeyPair {
  const { privateKey, publicKey } = generate(algorithm, modulusLength);
  const jwk = publicKey.export({ format: 'jwk' }) as PublicJwk;
  return { algorithm, privateKey, jwk, seal: sealedWith(algorithm, privateKey) };
}

function generate(algorithm: AssertionAlgorithm, modulusLength: number) {
  switch (algorithm) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' });
    case 'ES384':
      return generateKeyPairSync('ec', { namedCurve: 'P-384' });
    case 'EdDSA':
      return generateKeyPairSync('ed25519');
    default: {
      if (modulusLength !== 2048) return generateKeyPairSync('rsa', { modulusLength });
      const privateKey = newRsaKey();
      return { privateKey, publicKey: createPublicKey(privateKey) };
    }
  }
}

/** A compact JWS of these parts; an object is written as JSON. */
export function compactJws(header: Part, payload: Part, seal: Seal): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${Buffer.from(seal(input)).toString('base64url')}`;
}

function encode(part: Part): string {
  const isRaw = typeof part === 'string' || part instanceof Uint8Array;
  return Buffer.from(isRaw ? part : JSON.stringify(part)).toString('base64url');
}

/** The assertion that is parsed from this text. Throws if it is malformed. */
export function parsed(compact: string): ClientAssertion {
  const assertion = ClientAssertion.parse(compact);
  if (!assertion.ok) throw new Error(assertion.problem);
  return assertion.value;
}
