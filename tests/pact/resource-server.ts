import { createPublicKey, type JsonWebKey } from 'node:crypto';

export interface Issuer {
  readonly issuer: string;
  readonly keySetUrl: string;
}

/** A token whose signature is good, decoded. */
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

/** A server of another team that checks our tokens by what we publish, and uses no more of it than it needs. */
export class ResourceServer {
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  async findIssuer(): Promise<Issuer> {
    const metadata = await this.#get('/.well-known/oauth-authorization-server');
    return { issuer: String(metadata['issuer']), keySetUrl: String(metadata['jwks_uri']) };
  }

  /** The ids of the keys that it can check a signature with. */
  async loadKeys(): Promise<readonly string[]> {
    const { keys } = (await this.#get('/oauth2/jwks')) as { keys: readonly (JsonWebKey & { kid: string })[] };
    return keys
      .filter(({ use, alg }) => use === 'sig' && alg === 'RS256')
      .filter((key) => createPublicKey({ key, format: 'jwk' }).asymmetricKeyType === 'rsa')
      .map(({ kid }) => kid);
  }

  /** The client that calls. Throws where the token is not to be trusted. */
  callerOf({ header, claims }: DecodedToken, { issuer, keyIds, now }: Trust): string {
    if (header['alg'] !== 'RS256' || !keyIds.includes(String(header['kid']))) throw new Error('signed by a stranger');
    if (claims['iss'] !== issuer) throw new Error('of another issuer');
    if (Number(claims['nbf']) > now || now >= Number(claims['exp'])) throw new Error('not valid now');
    if (typeof claims['jti'] !== 'string') throw new Error('cannot be told from others');
    return String(claims['sub']);
  }

  async #get(path: string): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.#baseUrl}${path}`);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  }
}
