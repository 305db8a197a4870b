import type { RevokeToken } from '../../../application/revoke-token.ts';
import { ResponseCaller } from '../admission/response-caller.ts';
import { readRevocation } from '../parsing/introspection-request.ts';
import { acceptedWays, type TokenRequestSettings } from '../parsing/token-request.ts';
import type { Handler, Route } from '../server/koa-application.ts';
import { delayed, readClientRequest } from './client-request.ts';
import { REVOCATION_PATH } from './paths.ts';

interface RevocationParts extends TokenRequestSettings {
  readonly revokeToken: RevokeToken;
}

/** Clients authenticate themselves here: the route is public. */
export function revocationRoute(parts: RevocationParts): Route {
  return { path: REVOCATION_PATH, access: { kind: 'public' }, methods: { POST: revocationEndpoint(parts) } };
}

/** POST /oauth2/revoke (RFC 7009 section 2). Whatever became of the token, the response is the same (section 2.2). */
function revocationEndpoint(parts: RevocationParts): Handler {
  const { revokeToken } = parts;
  const accepted = acceptedWays(parts);
  return async (ctx) => {
    const request = await readClientRequest(ctx, accepted, readRevocation, ['token']);
    if (request === undefined) return;
    const revoked = await revokeToken.execute({ ...request.value, caller: new ResponseCaller(ctx) });
    if (!revoked.ok) return request.refuse(delayed(revoked.problem));
    ctx.state.clientId = revoked.value;
    ctx.status = 200;
    ctx.body = {};
  };
}
