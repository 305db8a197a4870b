import { constants, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

type Part = string | Uint8Array | object;

/** Makes the signature over the encoded header and payload. */
export type Sealing = (input: string) => Uint8Array;

/** Makes tokens with the service's own key, which the test brings, and with a key of an attacker. */
export class TokenForge {
  readonly kid: string;
  readonly publicKey: KeyObject;
  readonly #key: KeyObject;
  readonly #attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });
  readonly #issuer: string;
  readonly #seconds: () => number;

  /** @param seconds the time since the epoch, for the claims. */
  constructor(key: KeyObject, kid: string, issuer: string, seconds = () => Math.floor(Date.now() / 1000)) {
    this.kid = kid;
    this.publicKey = createPublicKey(key);
    this.#key = key;
    this.#issuer = issuer;
    this.#seconds = seconds;
  }

  /** The public key of the attacker. */
  get attackerJwk() {
    return this.#attacker.publicKey.export({ format: 'jwk' });
  }

  /** The same as SPKI in DER. */
  get attackerDer(): Buffer {
    return this.#attacker.publicKey.export({ type: 'spki', format: 'der' });
  }

  header(more: object = {}): object {
    return { kid: this.kid, alg: 'RS256', ...more };
  }

  /** Claims that the service accepts, but for these. */
  claims(more: object = {}): object {
    const now = this.#seconds();
    const client = 'good-client';
    return { iss: this.#issuer, sub: client, aud: client, iat: now, nbf: now, exp: now + 300, jti: 'forged', ...more };
  }

  readonly byService = (input: string, hash = 'sha256') => sign(hash, Buffer.from(input), this.#key);
  readonly byServiceWithPss = (input: string, hash = 'sha256') => {
    const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = constants;
    return sign(hash, Buffer.from(input), { key: this.#key, padding, saltLength });
  };
  readonly byAttacker = (input: string) => sign('sha256', Buffer.from(input), this.#attacker.privateKey);

  /** A compact JWS of these parts. */
  token(header: Part = this.header(), claims: Part = this.claims(), signature: Sealing = this.byService): string {
    return this.sealed(`${encode(header)}.${encode(claims)}`, signature);
  }

  /** A compact JWS of parts that are encoded already. */
  sealed(input: string, signature: Sealing = this.byService): string {
    return `${input}.${Buffer.from(signature(input)).toString('base64url')}`;
  }
}

/** A part in base64url; an object is written as JSON. */
export function encode(part: Part): string {
  const isRaw = typeof part === 'string' || part instanceof Uint8Array;
  return Buffer.from(isRaw ? part : JSON.stringify(part)).toString('base64url');
}
