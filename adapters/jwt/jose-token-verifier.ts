import type { VerificationKeys } from '../../application/ports/key-provider.ts';
import type { TokenDefect, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { type AccessTokenClaims, readAccessTokenClaims } from '../../domain/access-token-claims.ts';
import { failure, type Result } from '../../domain/result.ts';
import { parseUnambiguously } from './parse-unambiguously.ts';
import { verifyCompactJws } from './verify-compact-jws.ts';

/** Verifies with jose, by the key that the token names among those that are trusted. */
export class JoseTokenVerifier implements TokenVerifier {
  readonly #keys: VerificationKeys;

  constructor(keys: VerificationKeys) {
    this.#keys = keys;
  }

  async verify(token: string): Promise<Result<AccessTokenClaims, TokenDefect>> {
    const payload = await verifyCompactJws(token, this.#keys);
    if (!payload.ok) return payload;
    const claims = readAccessTokenClaims(parseUnambiguously(payload.value));
    return claims.ok ? claims : failure('token_claims_malformed');
  }
}
