/** The algorithms that tokens can be signed with (RFC 7518 section 3.1, RFC 8037 section 3.1). */
export const TOKEN_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;

export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/**
 * A public key for tokens as a JSON Web Key (RFC 7517 section 4), with the fields that its type needs and no others. It
 * verifies signatures by its `alg`, and no others.
 */
export interface TokenKey {
  readonly kty: 'RSA' | 'EC' | 'OKP';
  readonly use: 'sig';
  readonly alg: TokenAlgorithm;
  readonly kid: string;
  readonly crv?: 'P-256' | 'Ed25519';
  readonly n?: string;
  readonly e?: string;
  readonly x?: string;
  readonly y?: string;
}

/** The smallest modulus of an RSA key, in bits (RFC 7518 section 3.3). */
export const MODULUS_BITS_MIN = 2048;

/** The largest, in bits: one signature by 8,192 bits takes as long as forty by 2,048. */
export const MODULUS_BITS_MAX = 4096;

interface KeyType {
  readonly kty: TokenKey['kty'];
  readonly crv?: TokenKey['crv'];
  /** Of the public half, besides `kty`. */
  readonly fields: readonly (keyof TokenKey)[];
  /** For people. */
  readonly kind: string;
  /** For people, what the adapter that imports a key requires too. */
  readonly rule: string;
}

const RSA: KeyType = {
  kty: 'RSA',
  fields: ['n', 'e'],
  kind: 'an RSA key',
  rule: `an RSA key of ${MODULUS_BITS_MIN} to ${MODULUS_BITS_MAX} bits with an odd public exponent of at least 3`,
};

/** The keys of each algorithm. Of two for one type, the first is that of a key that names none. */
export const KEY_TYPES: Readonly<Record<TokenAlgorithm, KeyType>> = {
  RS256: RSA,
  PS256: RSA,
  ES256: { kty: 'EC', crv: 'P-256', fields: ['crv', 'x', 'y'], kind: 'a P-256 key', rule: 'a P-256 key' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519', fields: ['crv', 'x'], kind: 'an Ed25519 key', rule: 'an Ed25519 key' },
};

/** The algorithm of this name; undefined if tokens cannot be signed with it. */
export function readTokenAlgorithm(name: unknown): TokenAlgorithm | undefined {
  return TOKEN_ALGORITHMS.find((algorithm) => algorithm === name);
}

/**
 * The key for tokens in a JSON Web Key, by its type and by its `use`, `alg` and `key_ops`, where it has them; undefined
 * if it is for something else, or has no `kid`. Whether the key is usable, the adapter that imports it finds out.
 */
export function readTokenKey(value: unknown): TokenKey | undefined {
  const jwk: Readonly<Record<string, unknown>> = Object(value);
  const { kty, crv, kid, use = 'sig', key_ops: operations = ['verify'] } = jwk;
  const alg = TOKEN_ALGORITHMS.find((name) => {
    return KEY_TYPES[name].kty === kty && KEY_TYPES[name].crv === crv && name === (jwk['alg'] ?? name);
  });
  const isToVerify = use === 'sig' && Array.isArray(operations) && operations.includes('verify');
  if (alg === undefined || !isToVerify) return undefined;
  const fields = KEY_TYPES[alg].fields.map((name) => [name, jwk[name]] as const);
  if ([kid, ...fields.map(([, text]) => text)].some((text) => typeof text !== 'string' || text === ''))
    return undefined;
  return { kty, use, alg, kid, ...Object.fromEntries(fields) } as TokenKey;
}
