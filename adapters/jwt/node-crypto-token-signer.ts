import type { KeyProvider, SigningKey } from '../../application/ports/key-provider.ts';
import type { TokenSigner } from '../../application/ports/token-signer.ts';
import type { AccessTokenClaims, TokenType } from '../../domain/access-token-claims.ts';

/** Signs with the current signing key, on the event loop (decision 0201). */
export class NodeCryptoTokenSigner implements TokenSigner {
  readonly #keys: KeyProvider;
  readonly #type: TokenType | undefined;
  readonly #batch = new SignatureBatch();
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
    const signature = await this.#batch.sign(key, Buffer.from(input, 'latin1'));
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

/** Signatures per pass of the event loop: with RSA, about 5 ms in which nothing else runs. */
const BATCH_SIZE = 16;

interface QueuedSignature {
  readonly key: SigningKey;
  readonly data: Uint8Array;
  readonly resolve: (signature: Uint8Array) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * Makes signatures one right after the other, first in, first out, after the event loop has read what has arrived. The
 * code of RSA and its tables then stay in the processor's caches: 11 % more tokens per second (decision 0201).
 */
export class SignatureBatch {
  #queue: QueuedSignature[] = [];

  /** Rejects if the key throws; the others of the batch are signed all the same. */
  sign(key: SigningKey, data: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ key, data, resolve, reject });
      if (this.#queue.length === 1) setImmediate(() => this.#signBatch());
    });
  }

  #signBatch(): void {
    const batch = this.#queue.slice(0, BATCH_SIZE);
    this.#queue = this.#queue.slice(BATCH_SIZE);
    if (this.#queue.length > 0) setImmediate(() => this.#signBatch());
    for (const resolve of batch.map(signNow)) resolve();
  }
}

/** Signs at once. The promises are resolved after the whole batch, so no request continues in between. */
function signNow({ key, data, resolve, reject }: QueuedSignature): () => void {
  try {
    // ALGORITHMS has the `sign` of a key pair.
    const signature = key.sign(data);
    return () => resolve(signature);
  } catch (fault) {
    return () => reject(fault);
  }
}
