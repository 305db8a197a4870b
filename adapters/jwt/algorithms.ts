import { constants, type KeyObject, type SignKeyObjectInput, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import type { SigningKey } from '../../application/ports/key-provider.ts';
import type { AssertionAlgorithm } from '../../domain/public-jwk.ts';
import { MODULUS_BITS_MAX, MODULUS_BITS_MIN, type TokenAlgorithm } from '../../domain/token-key.ts';
import { ecdsaDerSignature, es256Signature } from './ecdsa-der-signature.ts';
import { SIGNING_INPUT_MAX, type SigningThreads } from './signing-threads.ts';

export type RsaSigner = Pick<SigningThreads, 'sign'>;

/** What node:crypto needs to verify by an algorithm. */
interface Verification {
  readonly verify: (input: Buffer, key: KeyObject, signature: Buffer) => boolean | Promise<boolean>;
  /** Bytes of the shortest and the longest signature; for RSA, by the smallest and the largest key of a client. */
  readonly signatureBytes: readonly [number, number];
  /** log2 of what one verification costs, in tenths of a millisecond. */
  readonly cost: number;
}

/** What it needs to sign tokens by it. */
interface Signature {
  /** For generateKeyPair. */
  readonly generate: readonly ['rsa' | 'ec' | 'ed25519', object];
  /** By RSA, a signature takes longer than the rest of a token: threads make it. */
  readonly sign: (key: KeyObject, threads: RsaSigner) => SigningKey['sign'];
}

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
const RSA = {
  generate: ['rsa', { modulusLength: MODULUS_BITS_MIN }],
  signatureBytes: [256, 512],
  cost: 0,
} as const;

const verifyInPool: (digest: string, data: Buffer, key: KeyObject, signature: Buffer) => Promise<boolean> =
  promisify(verify);

const bytesOf = (input: string) => Buffer.from(input, 'latin1');
const encoded = (signature: Buffer) => signature.toString('base64url');

/** A longer token is refused when it is signed. Its client may hold up the event loop for a signature. */
const inThread = (by: SignKeyObjectInput, threads: RsaSigner) => async (input: string) =>
  input.length > SIGNING_INPUT_MAX ? encoded(sign('sha256', bytesOf(input), by)) : threads.sign(by, input);

/** How node:crypto signs and verifies by each algorithm (RFC 7518 sections 3.3 to 3.5, RFC 8037 section 3.1). */
export const ALGORITHMS: Readonly<Record<AssertionAlgorithm, Verification> & Record<TokenAlgorithm, Signature>> = {
  RS256: {
    ...RSA,
    sign: (key, threads) => inThread({ key }, threads),
    verify: (input, key, signature) => verify('sha256', input, key, signature),
  },
  PS256: {
    ...RSA,
    sign: (key, threads) => inThread({ key, ...PSS }, threads),
    verify: (input, key, signature) => verify('sha256', input, { key, ...PSS }, signature),
  },
  ES256: {
    generate: ['ec', { namedCurve: 'P-256' }],
    sign: (key) => async (input) => encoded(es256Signature(sign('sha256', bytesOf(input), key))),
    verify: (input, key, signature) => verify('sha256', input, key, ecdsaDerSignature(signature)),
    signatureBytes: [64, 64],
    cost: 0,
  },
  ES384: {
    verify: (input, key, signature) => verifyInPool('sha384', input, key, ecdsaDerSignature(signature)),
    signatureBytes: [96, 96],
    cost: 3,
  },
  EdDSA: {
    generate: ['ed25519', {}],
    sign: (key) => async (input) => encoded(sign(null, bytesOf(input), key)),
    verify: (input, key, signature) => verify(null, input, key, signature),
    signatureBytes: [64, 64],
    cost: 0,
  },
};

/**
 * Whether a public key may verify tokens: RSA with a modulus of the allowed size and a valid public exponent (RFC 8017
 * section 3.1), or any point. With the exponent 1, every padded hash is its own signature, so anyone could forge
 * tokens.
 */
export function isUsableKey({ asymmetricKeyDetails = {} }: KeyObject): boolean {
  const { modulusLength: bits, publicExponent: exponent } = asymmetricKeyDetails;
  if (bits === undefined || exponent === undefined) return true;
  return bits >= MODULUS_BITS_MIN && bits <= MODULUS_BITS_MAX && exponent >= 3n && exponent % 2n === 1n;
}

/** Whether a signature by this algorithm can have so many bytes. */
export function isOfLength(bytes: number, algorithm: AssertionAlgorithm): boolean {
  const [shortest, longest] = ALGORITHMS[algorithm].signatureBytes;
  return bytes >= shortest && bytes <= longest;
}
