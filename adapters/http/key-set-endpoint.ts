import type { PublishKeys } from '../../application/publish-keys.ts';
import { answerCacheable, type Cacheability } from './cacheable.ts';
import type { Handler } from './route.ts';

export const KEY_SET_PATH = '/oauth2/jwks';

/** GET /oauth2/jwks: the JSON Web Key Set (RFC 7517 section 5), with the time for which a reader misses no key by keeping it. */
export function keySetEndpoint(publishKeys: PublishKeys, cacheability: Cacheability): Handler {
  return async (ctx) => {
    const { keySet, maxAgeSeconds } = await publishKeys.execute();
    answerCacheable(ctx, keySet, cacheability, maxAgeSeconds);
  };
}
