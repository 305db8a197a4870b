import { TOKEN_ALGORITHMS, type TokenAlgorithm, type TokenKey } from '../../domain/token-key.ts';

/** Each algorithm of the Web Cryptography API, from its specification: for importKey and for verify. */
const WEB_CRYPTO = {
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256', saltLength: 32 },
  ES256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
} as const satisfies Record<TokenAlgorithm, object>;

/** The public fields of a key for each algorithm, in order (RFC 7518 section 6, RFC 8037 section 2). */
export const PUBLIC_FIELDS: Readonly<Record<TokenAlgorithm, readonly string[]>> = {
  RS256: ['alg', 'e', 'kid', 'kty', 'n', 'use'],
  PS256: ['alg', 'e', 'kid', 'kty', 'n', 'use'],
  ES256: ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
  EdDSA: ['alg', 'crv', 'kid', 'kty', 'use', 'x'],
};

/** Every algorithm but the default, for tests of what it changes. */
export const OTHER_ALGORITHMS = TOKEN_ALGORITHMS.filter((name) => name !== 'RS256');

/** Whether this is a signature of a JWS in base64url by the algorithm, found without the code of the service. */
export async function isSignedBy(
  alg: TokenAlgorithm,
  key: TokenKey | undefined,
  signature: string,
  input: string,
): Promise<boolean> {
  if (key === undefined) return false;
  const params = WEB_CRYPTO[alg];
  const { use, kid, alg: _named, ...material } = key;
  const handle = await crypto.subtle.importKey('jwk', material, params, true, ['verify']);
  return crypto.subtle.verify(params, handle, Buffer.from(signature, 'base64url'), Buffer.from(input));
}
