import type { KeyProvider } from '../../application/ports/key-provider.ts';
import type { TokenSigner } from '../../application/ports/token-signer.ts';
import type { AccessTokenClaims, TokenType } from '../../domain/access-token-claims.ts';
import { SignatureBatch } from './signature-batch.ts';

/** Signs by RS256, with the key that signs now, on the event loop. */
export class Rs256TokenSigner implements TokenSigner {
  readonly #keys: KeyProvider;
  readonly #type: TokenType | undefined;
  readonly #batch = new SignatureBatch();
  /** The encoded header of the key that signed last. */
  #header = { kid: '', encoded: '' };

  /** @param type header member `typ`, where tokens are to have one. */
  constructor(keys: KeyProvider, type?: TokenType) {
    this.#keys = keys;
    this.#type = type;
  }

  async sign(claims: AccessTokenClaims): Promise<string> {
    const key = await this.#keys.signingKey();
    const input = `${this.#headerOf(key.kid)}.${encode(claims)}`;
    const signature = await this.#batch.sign(key, Buffer.from(input, 'latin1'));
    return `${input}.${Buffer.from(signature.buffer, signature.byteOffset, signature.length).toString('base64url')}`;
  }

  #headerOf(kid: string): string {
    if (this.#header.kid !== kid) {
      this.#header = { kid, encoded: encode({ kid, ...(this.#type && { typ: this.#type }), alg: 'RS256' }) };
    }
    return this.#header.encoded;
  }
}

/** BASE64URL(UTF8(JSON)) of RFC 7515 section 3.1. */
function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
