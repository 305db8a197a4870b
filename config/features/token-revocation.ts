import { CALLERS_MAX, TokenBucketBudget } from '../../adapters/http/admission/token-bucket-budget.ts';
import { introspectionRoute } from '../../adapters/http/endpoints/introspection-endpoint.ts';
import { revocationRoute } from '../../adapters/http/endpoints/revocation-endpoint.ts';
import { IntrospectToken } from '../../application/introspect-token.ts';
import type { Revocations } from '../../application/ports/revocations.ts';
import { RevokeToken } from '../../application/revoke-token.ts';
import { type Core, give, PARTS } from '../container.ts';
import { needsOf } from '../core/storage.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { leewaySeconds } from '../settings/derived-values.ts';
import type { Settings } from '../settings/settings.ts';
import { openStorage } from '../storages.ts';

/** `TOKEN_REVOCATION`: where revoked tokens are kept. */
export async function revocations(configuration: Configuration, core: Core): Promise<Feature | undefined> {
  const { settings } = configuration;
  const { openRevocations } = await openStorage(settings);
  const needs = needsOf(configuration, core, 'revocations');
  const opened = settings.TOKEN_REVOCATION ? await openRevocations?.(needs) : undefined;
  give(core, PARTS.sharedRevocations, opened?.store);
  return opened && { checks: [opened.dependency], close: () => opened.dependency.close() };
}

/** `TOKEN_REVOCATION`: clients revoke their tokens, and resource servers ask whether a token is active. */
export function tokenRevocation(settings: Settings, core: Core): Feature | undefined {
  const found = core.resolve(PARTS.revocations);
  return found && revocationRoutes(settings, core, found);
}

function revocationRoutes(settings: Settings, core: Core, revocations: Revocations): Feature {
  const budget = new TokenBucketBudget(settings.INTROSPECTIONS_PER_SECOND);
  const parts = {
    authenticateClient: core.resolve(PARTS.authenticateClient),
    keys: core.resolve(PARTS.keyProvider),
    clock: core.resolve(PARTS.tokenClock),
    auditLog: core.resolve(PARTS.auditLog),
    revocations,
    budget,
  };
  const introspectToken = new IntrospectToken({
    ...parts,
    authorizeRequest: core.resolve(PARTS.authorizeRequest),
    clients: core.resolve(PARTS.clientRepository),
    issuer: settings.TOKEN_ISSUER,
    leewaySeconds: leewaySeconds(settings),
    scopeForAll: settings.INTROSPECTION_SCOPE,
  });
  const endpoint = {
    methods: settings.CLIENT_AUTHENTICATION_METHODS,
    grants: settings.GRANT_TYPES,
    audienceParameter: settings.AUDIENCE_PARAMETER,
  };
  return {
    routes: [
      introspectionRoute({ ...endpoint, introspectToken }),
      revocationRoute({ ...endpoint, revokeToken: new RevokeToken(parts) }),
    ],
    metrics(values) {
      const { revoked, max } = revocations.load;
      values.gauge('auth_introspection_callers', budget.callers, CALLERS_MAX);
      values.gauge('auth_revoked_tokens', revoked, max);
    },
  };
}
