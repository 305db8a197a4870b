import type { AccessTokenClaims, TokenType } from '../domain/access-token-claims.ts';
import type { KeyProvider, SigningKey } from './ports/key-provider.ts';

/** Signs access tokens with the current signing key, off the event loop where that pays (decision 0210). */
export class TokenSigner {
  readonly #keys: KeyProvider;
  readonly #type: TokenType | undefined;
  /** The encoded header for the key that signed last. */
  #header: { readonly kid: string; readonly encoded: string } | undefined;

  /** @param type header field `typ`, if tokens are to have one. */
  constructor(keys: KeyProvider, type?: TokenType) {
    this.#keys = keys;
    this.#type = type;
  }

  /**
   * A compact JWS (RFC 7515 section 7.1) over exactly these claims, with the header fields `alg` and `kid` of the
   * signing key. Costs one signature. Throws DependencyUnavailable as the key does.
   */
  async sign(claims: AccessTokenClaims): Promise<string> {
    const key = await this.#keys.signingKey();
    const input = `${this.#headerFor(key)}.${encode(claims)}`;
    return `${input}.${await key.sign(input)}`;
  }

  #headerFor({ kid, alg }: SigningKey): string {
    if (this.#header?.kid !== kid) {
      this.#header = { kid, encoded: encode({ kid, ...(this.#type && { typ: this.#type }), alg }) };
    }
    return this.#header.encoded;
  }
}

/** BASE64URL(UTF8(JSON)) of RFC 7515 section 3.1. */
function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
