import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';

/**
 * A resource server that caches the key set for exactly as long as its `max-age` allows, and fetches it for an unknown
 * key at most once per cooldown.
 */
export class CachingResourceServer {
  readonly #keySet: ReturnType<typeof createRemoteJWKSet>;
  #freshUntil = -Infinity;
  #fetched = 0;

  constructor(jwksUri: URL, cooldownMs: number) {
    this.#keySet = createRemoteJWKSet(jwksUri, {
      cacheMaxAge: Infinity,
      cooldownDuration: cooldownMs,
      [customFetch]: async (url, options) => {
        const response = await fetch(url, options);
        this.#fetched += 1;
        const maxAge = /max-age=(\d+)/.exec(response.headers.get('cache-control') ?? '')?.[1];
        if (response.ok && maxAge === undefined) throw new Error('the key set has no max-age');
        if (response.ok) this.#freshUntil = performance.now() + Number(maxAge) * 1000;
        return response;
      },
    });
  }

  /** How many times it fetched the key set. */
  get fetched(): number {
    return this.#fetched;
  }

  /** Whether the token is valid. Throws if there is no key set to verify it with. */
  async accepts(token: string, issuer: string): Promise<boolean> {
    if (performance.now() >= this.#freshUntil) await this.#keySet.reload();
    try {
      await jwtVerify(token, this.#keySet, { issuer, algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'] });
      return true;
    } catch (problem) {
      const code = problem instanceof Error && 'code' in problem ? String(problem.code) : '';
      if (/^ERR_(JWKS_NO_MATCHING_KEY|JWS|JWT|JOSE_ALG)/.test(code)) return false;
      throw problem;
    }
  }
}
