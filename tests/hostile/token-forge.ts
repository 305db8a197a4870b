import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

type Part = string | Uint8Array | object;

/** Makes tokens with the service's own key, which the test brings, and with a key of an attacker. */
export class TokenForge {
  readonly kid: string;
  readonly publicPem: string;
  readonly #key: KeyObject;
  readonly #attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });
  readonly #issuer: string;

  constructor(key: KeyObject, kid: string, issuer: string) {
    this.kid = kid;
    this.publicPem = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
    this.#key = key;
    this.#issuer = issuer;
  }

  /** The public key of the attacker. */
  get attackerJwk() {
    return this.#attacker.publicKey.export({ format: 'jwk' });
  }

  header(more: object = {}): object {
    return { kid: this.kid, alg: 'RS256', ...more };
  }

  /** Claims that the service accepts, but for these. */
  claims(more: object = {}): object {
    const now = Math.floor(Date.now() / 1000);
    const client = 'good-client';
    return { iss: this.#issuer, sub: client, aud: client, iat: now, nbf: now, exp: now + 300, jti: 'forged', ...more };
  }

  readonly byService = (input: string, hash = 'sha256') => sign(hash, Buffer.from(input), this.#key);
  readonly byAttacker = (input: string) => sign('sha256', Buffer.from(input), this.#attacker.privateKey);

  /** A compact JWS of these parts. */
  token(
    header: Part = this.header(),
    claims: Part = this.claims(),
    signature: (input: string) => Uint8Array = this.byService,
  ): string {
    const input = `${encode(header)}.${encode(claims)}`;
    return `${input}.${Buffer.from(signature(input)).toString('base64url')}`;
  }
}

function encode(part: Part): string {
  const isRaw = typeof part === 'string' || part instanceof Uint8Array;
  return Buffer.from(isRaw ? part : JSON.stringify(part)).toString('base64url');
}
