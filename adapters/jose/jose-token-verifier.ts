import type { KeyProvider } from '../../application/ports/key-provider.ts';
import type { TokenDefect, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { type AccessTokenClaims, readAccessTokenClaims } from '../../domain/access-token-claims.ts';
import { failure, type Result } from '../../domain/result.ts';
import { verifyCompactJws } from './verify-compact-jws.ts';

/** Verifies with jose, by the key that the token names among those that the provider trusts. */
export class JoseTokenVerifier implements TokenVerifier {
  readonly #keys: KeyProvider;

  constructor(keys: KeyProvider) {
    this.#keys = keys;
  }

  async verify(token: string): Promise<Result<AccessTokenClaims, TokenDefect>> {
    const payload = await verifyCompactJws(token, this.#keys);
    if (!payload.ok) return payload;
    const claims = readAccessTokenClaims(parseUnambiguously(Buffer.from(payload.value).toString()));
    return claims.ok ? claims : failure('token_claims_malformed');
  }
}

/**
 * The JSON value of a text that can be read in one way only, or undefined. A claim said twice, a number such as `1e400`
 * or `1.0`, or white space does not survive the way there and back; our signer writes none of them.
 */
function parseUnambiguously(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
