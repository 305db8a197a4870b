import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { MODULUS_BITS_MIN } from '../../application/ports/key-provider.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** A private RSA key from a file. A secret. */
export interface KeyFile {
  readonly key: KeyObject;
  /** The `kid` of a JWK; undefined if the file has none. */
  readonly kid: string | undefined;
}

/**
 * Reads a private key from PKCS#8 PEM (RFC 5958, RFC 7468) or a JSON Web Key (RFC 7517). A problem never quotes the
 * file.
 */
export function readKeyFile(text: string): Result<KeyFile, readonly string[]> {
  const jwk = parseObject(text);
  const key = jwk === undefined ? readPem(text) : readJwk(jwk);
  if (key === undefined) return failure(['must be a private key as PKCS#8 PEM without a passphrase, or as a JWK']);
  if (key.asymmetricKeyType !== 'rsa') return failure(['must be an RSA key']);
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < MODULUS_BITS_MIN) {
    return failure([`must be an RSA key of at least ${MODULUS_BITS_MIN} bits`]);
  }
  const kid = jwk?.['kid'];
  if (kid === undefined || (typeof kid === 'string' && kid !== '')) return success({ key, kid });
  return failure(['must have a kid that is a string']);
}

function readPem(text: string): KeyObject | undefined {
  if (!text.includes('-----BEGIN PRIVATE KEY-----')) return undefined;
  return attempt(() => createPrivateKey({ key: text, format: 'pem' }));
}

function readJwk(jwk: Readonly<Record<string, unknown>>): KeyObject | undefined {
  return attempt(() => createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' }));
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = attempt(() => JSON.parse(text) as unknown);
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
