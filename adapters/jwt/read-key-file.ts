import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from 'node:crypto';
import { parseJson } from '../../domain/parse-json.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { KEY_TYPES, readTokenKey, type TokenAlgorithm } from '../../domain/token-key.ts';
import { isUsableKey } from './algorithms.ts';

/** A private key from a file. A secret. */
export interface KeyFile {
  readonly key: KeyObject;
  /** The `kid` of a JWK; undefined if the file has none. */
  readonly kid: string | undefined;
}

/** Printable characters: no control, format, private or unassigned ones, and no line separators. */
const KID = /^[^\p{C}\p{Zl}\p{Zp}]{1,255}$/u;

const RULE =
  'must be a private key as PKCS#8 PEM without a passphrase, or as a JWK: openssl pkey -in <this file> -out <new file> converts other forms';

/**
 * Reads a private key from PKCS#8 PEM (RFC 5958, RFC 7468) or a JSON Web Key (RFC 7517), which must be for signatures
 * with this algorithm by its type, and by its `use`, `alg` and `key_ops`, where it has them. A problem never quotes the
 * file.
 */
export function readKeyFile(text: string, algorithm: TokenAlgorithm): Result<KeyFile, readonly string[]> {
  const jwk = parseObject(text);
  const key = jwk === undefined ? readPem(text) : readJwk(jwk);
  if (key === undefined) return failure([RULE]);
  const { kind, rule } = KEY_TYPES[algorithm];
  const publicKey = createPublicKey(key);
  const published = attempt(() => readTokenKey({ ...publicKey.export({ format: 'jwk' }), kid: 'any', alg: algorithm }));
  if (published === undefined) return failure([`must be ${kind}, since TOKEN_SIGNING_ALG is ${algorithm}`]);
  if (!isUsableKey(publicKey)) return failure([`must be ${rule}`]);
  if (!attempt(() => isPair(key, publicKey, jwk))) {
    return failure([
      `must have ${key.asymmetricKeyType === 'rsa' ? 'd, p and q that belong to n and e' : 'a d that belongs to the point'}`,
    ]);
  }
  const { kid, use = 'sig', alg = algorithm, key_ops: operations = ['sign'] } = jwk ?? {};
  const signs = Array.isArray(operations) && operations.includes('sign');
  const problems = [
    kid !== undefined &&
      !(typeof kid === 'string' && KID.test(kid)) &&
      'must have a kid of 1 to 255 printable characters',
    use !== 'sig' && 'must have the use sig, or none',
    alg !== algorithm && `must have the alg ${algorithm}, or none`,
    // The same key may have signed with RS256, and a key id belongs to one algorithm.
    algorithm === 'PS256' &&
      kid !== undefined &&
      jwk?.['alg'] === undefined &&
      'must have the alg PS256 beside its kid, and another kid than for RS256',
    !signs && 'must have key_ops with sign, or none',
  ].filter((problem) => problem !== false);
  return problems.length === 0 ? success({ key, kid: kid as string | undefined }) : failure(problems);
}

/**
 * Whether a signature verifies; of RSA, whether the modulus is the product of the primes, and `d` the inverse of `e`
 * (RFC 8017 section 3.2); of a curve, whether the point is that of the file, which OpenSSL ignores for Ed25519.
 */
function isPair(key: KeyObject, publicKey: KeyObject, file: Readonly<Record<string, unknown>> = {}): boolean {
  const fields = key.export({ format: 'jwk' });
  const probe = Buffer.from('probe');
  const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  if (!verify(hash, probe, publicKey, sign(hash, probe, key))) return false;
  if (fields.kty !== 'RSA') return fields.x === (file['x'] ?? fields.x);
  const [n = 0n, e = 0n, d = 0n, p = 0n, q = 0n] = (['n', 'e', 'd', 'p', 'q'] as const).map((name) =>
    BigInt(`0x${Buffer.from(String(fields[name]), 'base64url').toString('hex')}`),
  );
  return n === p * q && (e * d) % (p - 1n) === 1n && (e * d) % (q - 1n) === 1n;
}

function readPem(text: string): KeyObject | undefined {
  if (!text.includes('-----BEGIN PRIVATE KEY-----')) return undefined;
  return attempt(() => createPrivateKey({ key: text, format: 'pem' }));
}

function readJwk(jwk: Readonly<Record<string, unknown>>): KeyObject | undefined {
  return attempt(() => createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' }));
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

/** Undefined if it throws: the error could quote the key. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
