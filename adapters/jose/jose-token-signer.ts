import { SignJWT } from 'jose';
import type { KeyProvider } from '../../application/ports/key-provider.ts';
import type { TokenSigner } from '../../application/ports/token-signer.ts';
import type { AccessTokenClaims } from '../../domain/access-token-claims.ts';

/** Signs with jose. Every claim is given as a number or text of ours, so that jose looks at no clock. */
export class JoseTokenSigner implements TokenSigner {
  readonly #keys: KeyProvider;

  constructor(keys: KeyProvider) {
    this.#keys = keys;
  }

  async sign(claims: AccessTokenClaims): Promise<string> {
    const { kid, privateKey } = await this.#keys.signingKey();
    return new SignJWT({ ...claims, ...(claims.scope && { scope: [...claims.scope] }) })
      .setProtectedHeader({ kid, alg: 'RS256' })
      .sign(privateKey);
  }
}
