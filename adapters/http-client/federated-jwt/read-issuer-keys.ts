import type { TrustedIssuer } from '../../../domain/federated-jwt/trusted-issuers.ts';
import { algorithmsOf, type PublicJwk, readPublicJwk } from '../../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../../domain/result.ts';

/** The most keys of one issuer. Large platforms publish fewer than ten. */
const KEYS_MAX = 100;

/** Marks the keys of JWT-SVIDs in a SPIFFE bundle (SPIFFE Trust Domain and Bundle section 4.2.2). */
const SPIFFE_USE = 'jwt-svid';

/**
 * The keys of a JWK set (RFC 7517 section 5) with which this issuer may sign assertions. Others are ignored: of another
 * purpose, type, size or algorithm, and different keys with one id. Fails, without a value, if the document is no key
 * set or holds no such key: then the issuer's URL is wrong, or an attacker or a fault has emptied it.
 */
export function readIssuerKeys(
  document: unknown,
  { preset, issuer, algorithms }: Pick<TrustedIssuer, 'preset' | 'issuer' | 'algorithms'>,
): Result<readonly PublicJwk[], string> {
  const keys = (document as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) return failure('must be a JWK set');
  if (keys.length > KEYS_MAX) return failure(`must have at most ${KEYS_MAX} keys`);
  const isBundle = preset === 'spiffe' && issuer.startsWith('spiffe://');
  const readable = keys
    .map((key: unknown) => readPublicJwk(isBundle ? fromBundle(key) : key))
    .flatMap((read) => (read.ok ? [read.value] : []))
    .filter((key) => algorithmsOf(key).some((algorithm) => algorithms.includes(algorithm)));
  const usable = readable.filter(
    (key) => key.kid === undefined || !readable.some((other) => other.kid === key.kid && !isSame(other, key)),
  );
  if (usable.length > 0) return success(usable);
  return failure(`must have a key${isBundle ? ` with use ${SPIFFE_USE}` : ''} for ${algorithms.join(' or ')}`);
}

/** A key of a bundle as an ordinary one. What has no use, or another one, is none: not even a key for signatures. */
function fromBundle(key: unknown): unknown {
  const { use, ...fields } = (key ?? {}) as Readonly<Record<string, unknown>>;
  return use === SPIFFE_USE ? fields : undefined;
}

function isSame(one: PublicJwk, other: PublicJwk): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
