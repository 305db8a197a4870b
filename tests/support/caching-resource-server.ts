import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';

/** A resource server that keeps the key set for exactly as long as it was told it may, and asks for an unknown key at most so often. */
export class CachingResourceServer {
  readonly #keySet: ReturnType<typeof createRemoteJWKSet>;
  #freshUntil = -Infinity;
  #fetched = 0;

  constructor(jwksUri: URL, cooldownMs: number) {
    this.#keySet = createRemoteJWKSet(jwksUri, {
      cacheMaxAge: Infinity,
      cooldownDuration: cooldownMs,
      [customFetch]: async (url, options) => {
        const answer = await fetch(url, options);
        this.#fetched += 1;
        const maxAge = /max-age=(\d+)/.exec(answer.headers.get('cache-control') ?? '')?.[1];
        if (answer.ok && maxAge === undefined) throw new Error('the key set does not say how long it may be kept');
        if (answer.ok) this.#freshUntil = performance.now() + Number(maxAge) * 1000;
        return answer;
      },
    });
  }

  /** How often it had to fetch the key set. */
  get fetched(): number {
    return this.#fetched;
  }

  /** Whether the token is good. Throws where that cannot be told, for want of a key set. */
  async accepts(token: string, issuer: string): Promise<boolean> {
    if (performance.now() >= this.#freshUntil) await this.#keySet.reload();
    try {
      await jwtVerify(token, this.#keySet, { issuer, algorithms: ['RS256'] });
      return true;
    } catch (problem) {
      const code = problem instanceof Error && 'code' in problem ? String(problem.code) : '';
      if (/^ERR_(JWKS_NO_MATCHING_KEY|JWS|JWT|JOSE_ALG)/.test(code)) return false;
      throw problem;
    }
  }
}
