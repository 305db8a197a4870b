import { defineEntity, p } from '@mikro-orm/core';
import { readTokenKey, type TokenAlgorithm, type TokenKey } from '../../../domain/token-key.ts';
import { defineTable } from '../table.ts';

/**
 * The table `signing_keys`, as the service creates it if it is missing: public keys by their ids, which are compared
 * byte by byte (collation `C`), as `keyRowOf` writes them, and the time until which each is trusted. All times
 * are in seconds since the epoch, by the clock of the database.
 */
export const SIGNING_KEYS = defineTable(
  defineEntity({
    name: 'SigningKey',
    tableName: 'signing_keys',
    properties: {
      kid: p.text().collation('C').primary(),
      n: p.text(),
      e: p.text(),
      trustedUntil: p.bigint('string').fieldName('trusted_until'),
    },
  }),
  'read and write',
);

/**
 * The table `signing_key_states`: what is known about a key beside the key itself. A row with `revoked_at` is the tombstone
 * of a revoked key. A table of its own, since replicas of older versions write `signing_keys`, and delete what has expired.
 */
export const SIGNING_KEY_STATES = defineTable(
  defineEntity({
    name: 'SigningKeyState',
    tableName: 'signing_key_states',
    properties: {
      kid: p.text().collation('C').primary(),
      replica: p.text().nullable(),
      publishedAt: p.bigint('string').fieldName('published_at').nullable(),
      revokedAt: p.bigint('string').fieldName('revoked_at').nullable(),
      keptUntil: p.bigint('string').fieldName('kept_until'),
    },
  }),
  'read and write',
);

/** A key in the table `signing_keys`, as text. A table that another application created may contain nulls. */
export type KeyRow = Readonly<Record<'kid' | 'n' | 'e', string | null>>;

/**
 * A key for RS256 as its modulus and exponent. Every other one is the whole key in `n`, with an empty `e`: versions that
 * know only RS256 find no usable RSA key there, and ignore the row (decision 0123).
 */
export function keyRowOf(jwk: TokenKey): Readonly<Record<'kid' | 'n' | 'e', string>> {
  const { kid, alg, n = '', e = '' } = jwk;
  return alg === 'RS256' ? { kid, n, e } : { kid, n: JSON.stringify(jwk), e: '' };
}

/** Undefined if the row holds no key. */
export function readKeyRow({ kid, n, e }: KeyRow): TokenKey | undefined {
  if (n === null || e !== '') return readTokenKey({ kty: 'RSA', kid, n, e });
  try {
    return readTokenKey({ ...JSON.parse(n), kid });
  } catch {
    return undefined;
  }
}

/** Who publishes a key, for `signing_key_states`: the host and the process, and the algorithm of the key. */
export function publisherOf(replica: string, alg: TokenAlgorithm): string {
  return `${replica} ${alg}`;
}

/** The algorithm is undefined if the replica is of a version that verifies only RS256, and writes none. */
export function readPublisher(text: string | null): { readonly replica?: string; readonly algorithm?: string } {
  const [replica, algorithm] = text?.split(' ') ?? [];
  return { ...(replica !== undefined && { replica }), ...(algorithm !== undefined && { algorithm }) };
}
