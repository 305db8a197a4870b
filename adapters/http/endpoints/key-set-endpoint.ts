import type { PublishKeys } from '../../../application/keys/publish-keys.ts';
import type { Handler } from '../server/route.ts';
import { answerCacheable, type Cacheability } from './cacheable.ts';

export const KEY_SET_PATH = '/oauth2/jwks';

/** GET /oauth2/jwks: the JSON Web Key Set (RFC 7517 section 5), cacheable for as long as a reader misses no new key. */
export function keySetEndpoint(publishKeys: PublishKeys, cacheability: Cacheability): Handler {
  return async (ctx) => {
    const { keySet, maxAgeSeconds } = await publishKeys.execute();
    answerCacheable(ctx, keySet, cacheability, maxAgeSeconds);
  };
}
