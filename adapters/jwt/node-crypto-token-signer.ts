import { Batches } from '../../application/batches.ts';
import type { KeyProvider, SigningKey } from '../../application/ports/key-provider.ts';
import type { TokenSigner } from '../../application/ports/token-signer.ts';
import type { AccessTokenClaims, TokenType } from '../../domain/access-token-claims.ts';

/** Signatures per pass of the event loop: with RSA, about 5 ms in which nothing else runs. */
const BATCH_SIZE = 16;

/** Signs with the current signing key, on the event loop (decision 0201). */
export class NodeCryptoTokenSigner implements TokenSigner {
  readonly #keys: KeyProvider;
  readonly #type: TokenType | undefined;
  readonly #signatures = new Batches(signAll, { max: BATCH_SIZE });
  /** The encoded header for the key that signed last. */
  #header = { kid: '', encoded: '' };

  /** @param type header member `typ`, if tokens are to have one. */
  constructor(keys: KeyProvider, type?: TokenType) {
    this.#keys = keys;
    this.#type = type;
  }

  async sign(claims: AccessTokenClaims): Promise<string> {
    const key = await this.#keys.signingKey();
    const input = `${this.#headerFor(key)}.${encode(claims)}`;
    const signature = await this.#signatures.add({ key, data: Buffer.from(input, 'latin1') });
    return `${input}.${Buffer.from(signature.buffer, signature.byteOffset, signature.length).toString('base64url')}`;
  }

  #headerFor({ kid, alg }: SigningKey): string {
    if (this.#header.kid !== kid) {
      this.#header = { kid, encoded: encode({ kid, ...(this.#type && { typ: this.#type }), alg }) };
    }
    return this.#header.encoded;
  }
}

/** BASE64URL(UTF8(JSON)) of RFC 7515 section 3.1. */
function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

interface Job {
  readonly key: SigningKey;
  readonly data: Uint8Array;
}

/**
 * Makes signatures one right after the other: no request continues in between. The code of RSA and its tables then stay in
 * the processor's caches: 11 % more tokens per second (decision 0201).
 */
export function signAll(jobs: readonly Job[]): readonly Uint8Array[] {
  // ALGORITHMS has the `sign` of a key pair.
  return jobs.map(({ key, data }) => key.sign(data));
}
