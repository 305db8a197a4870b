import { SignJWT } from 'jose';
import type { KeyProvider } from '../../application/ports/key-provider.ts';
import type { TokenSigner } from '../../application/ports/token-signer.ts';
import type { AccessTokenClaims, TokenType } from '../../domain/access-token-claims.ts';

/** Signs with jose. Every claim is given as a number or text of ours, so that jose looks at no clock. */
export class JoseTokenSigner implements TokenSigner {
  readonly #keys: KeyProvider;
  readonly #type: TokenType | undefined;

  /** @param type header member `typ`, where tokens are to have one. */
  constructor(keys: KeyProvider, type?: TokenType) {
    this.#keys = keys;
    this.#type = type;
  }

  async sign(claims: AccessTokenClaims): Promise<string> {
    const { kid, privateKey } = await this.#keys.signingKey();
    return new SignJWT({ ...claims })
      .setProtectedHeader({ kid, ...(this.#type && { typ: this.#type }), alg: 'RS256' })
      .sign(privateKey);
  }
}
