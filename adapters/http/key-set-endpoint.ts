import type { PublishKeys } from '../../application/publish-keys.ts';
import type { Handler } from './route.ts';

export const KEY_SET_PATH = '/oauth2/jwks';

/** GET /oauth2/jwks: the JSON Web Key Set (RFC 7517 section 5). */
export function keySetEndpoint(publishKeys: PublishKeys): Handler {
  return async (ctx) => {
    ctx.status = 200;
    ctx.body = await publishKeys.execute();
  };
}
