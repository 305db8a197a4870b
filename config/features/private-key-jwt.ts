import { TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { InMemoryUsedAssertions } from '../../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import type { PresentedAssertion } from '../../application/authenticate-client.ts';
import type { ClientAuthentication } from '../../application/ports/client-credentials.ts';
import { AuthenticateByKey } from '../../application/private-key-jwt/authenticate-by-key.ts';
import { UseAssertion } from '../../application/private-key-jwt/use-assertion.ts';
import type { Feature } from '../feature.ts';
import { type Core, PARTS, part } from '../parts.ts';
import type { Settings } from '../settings/settings.ts';
import { databaseOptions } from '../storages.ts';

interface PrivateKeyJwt extends Feature {
  readonly method: ClientAuthentication<PresentedAssertion>;
}

/** `private_key_jwt`: clients authenticate with assertions that they sign with keys of their own (RFC 7523 section 2.2). */
export async function privateKeyJwt(settings: Settings, core: Core): Promise<PrivateKeyJwt | undefined> {
  const { TOKEN_ISSUER: issuer, BASE_URL, CLIENT_ASSERTION_AUDIENCE: audience } = settings;
  if (!settings.CLIENT_AUTHENTICATION_METHODS.includes('private_key_jwt')) return undefined;
  const shared = settings.CLIENT_REPOSITORY === 'postgres' ? await openUses(settings, core) : undefined;
  part(core, PARTS.usedAssertions, () => {
    return shared?.adapter ?? new InMemoryUsedAssertions(core.resolve(PARTS.monotonicClock));
  });
  const usedAssertions = core.resolve(PARTS.usedAssertions);
  const method = new AuthenticateByKey({
    clients: core.resolve(PARTS.clientRepository),
    verifyAssertion: core.resolve(PARTS.verifyAssertion),
    useAssertion: new UseAssertion(usedAssertions),
    clock: core.resolve(PARTS.clock),
    maxLifetimeSeconds: settings.CLIENT_ASSERTION_MAX_LIFETIME_SECONDS,
    audiences: audience === 'issuer' ? [issuer] : [issuer, `${BASE_URL}${TOKEN_PATH}`],
  });
  return {
    method,
    ...(shared && { checks: [shared.dependency], close: () => shared.dependency.close() }),
    metrics(values) {
      const { used, max } = usedAssertions.load;
      const help = 'Used assertions of clients that are kept, so that none is used again.';
      values.gauge('auth_used_assertions', help, used, max);
    },
  };
}

/** The assertions that any replica has seen. */
export async function openUses(settings: Settings, core: Core) {
  const { openUsedAssertions } = await import('../../adapters/postgres/private-key-jwt/postgres-used-assertions.ts');
  const log = core.resolve(PARTS.log);
  const mayCreate = core.resolve(PARTS.mayCreateTables);
  const options = { ...databaseOptions(settings, log, core.resolve(PARTS.processMetrics)), mayCreate };
  const changes = createStateLog(log.child({ dependency: 'used assertions' }));
  return openUsedAssertions(options, core.resolve(PARTS.clock), changes);
}
