import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { failure, type Result, success } from '../../domain/result.ts';
import { KEY_TYPES, readTokenKey, type TokenAlgorithm } from '../../domain/token-key.ts';
import { isUsableKey } from './algorithms.ts';

const CONVERT = 'convert it with openssl pkey -in <this file> -out <new file>';

/** What people give in place of it, by a part of the text such as the label of a PEM (RFC 7468), and what to do then. */
const KINDS = [
  { mark: '-----\\n', fix: '; each \\n in it has to be a line break' },
  { mark: 'LS0tLS1CRUdJTi', fix: '; this is base64 of a PEM file: decode it with base64 -d' },
  { mark: 'BEGIN RSA PRIVATE KEY-----', fix: `; this is PKCS#1: ${CONVERT}` },
  { mark: 'BEGIN ENCRYPTED PRIVATE KEY-----', fix: `; this one has a passphrase: ${CONVERT}` },
  { mark: 'BEGIN EC PRIVATE KEY-----', fix: `; this is SEC 1: ${CONVERT}` },
  { mark: '"kty"', fix: '; this is a JWK: write it as PEM' },
  { mark: 'BEGIN PUBLIC KEY-----', fix: '; this is the public key' },
  { mark: 'BEGIN CERTIFICATE-----', fix: '; this is a certificate' },
] as const;

/**
 * Reads a private key from PKCS#8 PEM (RFC 5958, RFC 7468), whose type must be that of this algorithm. A problem never quotes the file.
 */
export function readKeyFile(text: string, algorithm: TokenAlgorithm): Result<KeyObject, readonly string[]> {
  const isPem = text.includes('-----BEGIN PRIVATE KEY-----');
  const key = isPem ? attempt(() => createPrivateKey({ key: text, format: 'pem' })) : undefined;
  if (key === undefined) {
    const kind = KINDS.find(({ mark }) => text.includes(mark));
    return failure([`must be a private key as PKCS#8 PEM without a passphrase${kind?.fix ?? ''}`]);
  }
  const { kind, rule } = KEY_TYPES[algorithm];
  const publicKey = createPublicKey(key);
  const published = attempt(() => readTokenKey({ ...publicKey.export({ format: 'jwk' }), kid: 'any', alg: algorithm }));
  if (published === undefined) return failure([`must be ${kind}, since TOKEN_SIGNING_ALG is ${algorithm}`]);
  if (!isUsableKey(publicKey)) return failure([`must be ${rule}`]);
  if (attempt(() => isPair(key, publicKey))) return success(key);
  const fields =
    key.asymmetricKeyType === 'rsa' ? 'd, p and q that belong to n and e' : 'a d that belongs to the point';
  return failure([`must have ${fields}`]);
}

/**
 * Whether a signature verifies; of RSA, whether the modulus is the product of the primes, and `d` the inverse of `e` (RFC
 * 8017 section 3.2).
 */
function isPair(key: KeyObject, publicKey: KeyObject): boolean {
  const fields = key.export({ format: 'jwk' });
  const probe = Buffer.from('probe');
  const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  if (!verify(hash, probe, publicKey, sign(hash, probe, key))) return false;
  if (fields.kty !== 'RSA') return true;
  const [n = 0n, e = 0n, d = 0n, p = 0n, q = 0n] = (['n', 'e', 'd', 'p', 'q'] as const).map((name) =>
    BigInt(`0x${Buffer.from(String(fields[name]), 'base64url').toString('hex')}`),
  );
  return n === p * q && (e * d) % (p - 1n) === 1n && (e * d) % (q - 1n) === 1n;
}

/** Undefined if it throws: the error could quote the key. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
