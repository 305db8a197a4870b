import { CALLERS_MAX, TokenBucketBudget } from '../../adapters/http/admission/token-bucket-budget.ts';
import { introspectionRoute } from '../../adapters/http/endpoints/introspection-endpoint.ts';
import { IntrospectToken } from '../../application/introspect-token.ts';
import { leewaySeconds } from '../core/use-cases.ts';
import type { Feature } from '../feature.ts';
import { type Core, PARTS } from '../parts.ts';
import type { Settings } from '../settings/settings.ts';

/** `TOKEN_REVOCATION`: resource servers ask whether a token counts now. */
export function tokenRevocation(settings: Settings, core: Core): Feature | undefined {
  if (!settings.TOKEN_REVOCATION) return undefined;
  const budget = new TokenBucketBudget(settings.INTROSPECTIONS_PER_SECOND);
  const introspectToken = new IntrospectToken({
    authenticateClient: core.resolve(PARTS.authenticateClient),
    authorizeRequest: core.resolve(PARTS.authorizeRequest),
    clients: core.resolve(PARTS.clientRepository),
    keys: core.resolve(PARTS.keyProvider),
    clock: core.resolve(PARTS.tokenClock),
    auditLog: core.resolve(PARTS.auditLog),
    budget,
    issuer: settings.TOKEN_ISSUER,
    leewaySeconds: leewaySeconds(settings),
    scopeForAll: settings.INTROSPECTION_SCOPE,
  });
  const route = introspectionRoute({
    introspectToken,
    load: core.resolve(PARTS.loadLimit),
    methods: settings.CLIENT_AUTHENTICATION_METHODS,
    grants: settings.GRANT_TYPES,
    audienceParameter: settings.AUDIENCE_PARAMETER,
  });
  return {
    routes: [route],
    metrics: (values) => values.gauge('auth_introspection_callers', budget.callers, CALLERS_MAX),
  };
}
