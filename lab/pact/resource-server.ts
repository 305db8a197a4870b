import { createPublicKey, type JsonWebKey } from 'node:crypto';

export interface Issuer {
  readonly issuer: string;
  readonly keySetUrl: string;
}

/** A decoded token whose signature was verified. */
export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface Trust {
  readonly issuer: string;
  readonly keyIds: readonly string[];
  /** Seconds since the epoch. */
  readonly now: number;
}

/**
 * A server of another team: it checks our tokens with the published metadata and keys, and reads only what it needs of
 * them.
 */
export class ResourceServer {
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  async findIssuer(): Promise<Issuer> {
    const metadata = await this.#get('/.well-known/oauth-authorization-server');
    return { issuer: String(metadata['issuer']), keySetUrl: String(metadata['jwks_uri']) };
  }

  /** The ids of the keys that it can verify signatures with. */
  async loadKeys(): Promise<readonly string[]> {
    const { keys } = (await this.#get('/oauth2/jwks')) as { keys: readonly (JsonWebKey & { kid: string })[] };
    return keys
      .filter(({ use, alg }) => use === 'sig' && alg === 'RS256')
      .filter((key) => createPublicKey({ key, format: 'jwk' }).asymmetricKeyType === 'rsa')
      .map(({ kid }) => kid);
  }

  /** The client that sent the token. Throws if the token is not valid. */
  callerOf({ header, claims }: DecodedToken, { issuer, keyIds, now }: Trust): string {
    if (header['alg'] !== 'RS256' || !keyIds.includes(String(header['kid'])))
      throw new Error('signed by an unknown key');
    if (claims['iss'] !== issuer) throw new Error('from another issuer');
    if (Number(claims['nbf']) > now || now >= Number(claims['exp'])) throw new Error('not valid now');
    if (typeof claims['jti'] !== 'string') throw new Error('without an id');
    return String(claims['sub']);
  }

  async #get(path: string): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.#baseUrl}${path}`);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  }
}
