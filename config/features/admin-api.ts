import { documentReader } from '../../adapters/files/admin-api/client-document.ts';
import { clientsRoutes } from '../../adapters/http/admin-api/clients-routes.ts';
import { CALLERS_MAX, TokenBucketBudget } from '../../adapters/http/admission/token-bucket-budget.ts';
import { bcryptEncoder, bcryptMatcher } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { secretFiles } from '../../adapters/system/secret-files.ts';
import { randomSecret } from '../../adapters/system/system.ts';
import { ADMIN_SCOPES, administerClients } from '../../application/admin-api/administer-clients.ts';
import { AuthorizeAdministrator } from '../../application/admin-api/authorize-administrator.ts';
import { AuthorizeRequest } from '../../application/authorize-request.ts';
import { clientChangeEvents } from '../../application/clients-program/client-change-events.ts';
import { RecordChanges } from '../../application/record-changes.ts';
import { weaknessByName } from '../../domain/federated-jwt/issuer-preset.ts';
import { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { TokenPolicy } from '../../domain/token-policy.ts';
import { type Core, PARTS } from '../container.ts';
import { needsOf } from '../core/storage.ts';
import type { Feature } from '../feature.ts';
import { createHashing } from '../pool-work.ts';
import type { Configuration } from '../settings/configuration.ts';
import { leewaySeconds, tokenPolicyOptions } from '../settings/derived-values.ts';
import { openPrograms } from '../storages.ts';

/** Connections for changes of clients, with a bound of their own: no request for a token waits for them. */
const POOL_SIZE = 4;

/** `ADMIN_API`: clients manage clients at `/clients` of the management port. */
export async function adminApi(configuration: Configuration, core: Core): Promise<Feature | undefined> {
  const { settings, issuers } = configuration;
  if (!settings.ADMIN_API) return undefined;
  const { file, database } = needsOf(configuration, core);
  const { openClients } = await openPrograms(settings);
  const managed = await openClients({ file, url: database.url, poolSize: POOL_SIZE });
  const problem = await managed.refusal();
  if (problem !== undefined) {
    await managed.close();
    throw Object.assign(new Error(problem.text), { problem });
  }
  if (managed.load !== undefined) core.resolve(PARTS.processMetrics).measureDatabase('client management', managed.load);
  const [clock, ids, auditLog] = [core.resolve(PARTS.clock), core.resolve(PARTS.ids), core.resolve(PARTS.auditLog)];
  const hashing = createHashing();
  const trusted = new TrustedIssuers(issuers);
  const parts = {
    clock,
    ids,
    secretFiles,
    generateSecret: randomSecret,
    encodeSecret: bcryptEncoder(hashing.run),
    matchSecret: bcryptMatcher(hashing.run),
    checkRule:
      issuers.length === 0
        ? weaknessByName
        : (rule: Parameters<TrustedIssuers['problemOf']>[0]) => trusted.problemOf(rule),
    protectedScopes: [...Object.values(ADMIN_SCOPES), settings.INTROSPECTION_SCOPE],
  };
  const expected = { issuer: settings.TOKEN_ISSUER, audience: settings.TOKEN_ISSUER, isOnlyAudience: true };
  const authorizeRequest = new AuthorizeRequest(
    ...([core.resolve(PARTS.keyProvider), core.resolve(PARTS.tokenClock)] as const),
    { ...expected, leewaySeconds: leewaySeconds(settings) },
    core.resolve(PARTS.revocations),
  );
  const authorize = new AuthorizeAdministrator({
    authorizeRequest,
    clients: core.resolve(PARTS.clientRepository),
    policy: new TokenPolicy(tokenPolicyOptions(settings)),
    resource: settings.TOKEN_ISSUER,
  });
  const budget = new TokenBucketBudget(settings.ADMIN_REQUESTS_PER_SECOND);
  return {
    managementRoutes: clientsRoutes({
      budget,
      authorize,
      documentOf: documentReader,
      administer(changed_by, scopes) {
        const recorder = new RecordChanges({ changeLog: auditLog, clock, ids }, clientChangeEvents, { changed_by });
        return administerClients({ ...parts, ...managed.with(recorder), scopes });
      },
    }),
    metrics: (values) => values.gauge('auth_admin_api_callers', budget.callers, CALLERS_MAX),
    close: () => managed.close(),
  };
}
