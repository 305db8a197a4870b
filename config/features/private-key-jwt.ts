import { TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import type { PresentedAssertion } from '../../application/authenticate-client.ts';
import type { ClientAuthentication } from '../../application/ports/client-credentials.ts';
import { AuthenticateByKey } from '../../application/private-key-jwt/authenticate-by-key.ts';
import { UseAssertion } from '../../application/private-key-jwt/use-assertion.ts';
import { type Core, give, PARTS } from '../container.ts';
import { needsOf } from '../core/storage.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { verifiedMethods } from '../settings/verified-methods.ts';
import { openStorage } from '../storages.ts';

interface PrivateKeyJwt extends Feature {
  readonly method: ClientAuthentication<PresentedAssertion>;
  /** The same for assertions that are the grant itself. */
  readonly grant: ClientAuthentication<PresentedAssertion>;
}

/**
 * `private_key_jwt`: clients authenticate with assertions that they sign with keys of their own (RFC 7523 section 2.2);
 * and those that sign their grant so (section 2.1).
 */
export async function privateKeyJwt(configuration: Configuration, core: Core): Promise<PrivateKeyJwt | undefined> {
  const { settings } = configuration;
  const { TOKEN_ISSUER: issuer, BASE_URL, CLIENT_ASSERTION_AUDIENCE: audience } = settings;
  if (!verifiedMethods(settings).includes('private_key_jwt')) return undefined;
  const { openUsedAssertions } = await openStorage(settings);
  const shared = await openUsedAssertions?.(needsOf(configuration, core, 'used assertions'));
  give(core, PARTS.sharedAssertions, shared?.store);
  const usedAssertions = core.resolve(PARTS.usedAssertions);
  const parts = {
    clients: core.resolve(PARTS.clientRepository),
    verifyAssertion: core.resolve(PARTS.verifyAssertion),
    useAssertion: new UseAssertion(usedAssertions),
    clock: core.resolve(PARTS.clock),
    audiences: audience === 'issuer' ? [issuer] : [issuer, `${BASE_URL}${TOKEN_PATH}`],
  };
  const { CLIENT_ASSERTION_MAX_LIFETIME_SECONDS, JWT_BEARER_MAX_LIFETIME_SECONDS } = settings;
  return {
    method: new AuthenticateByKey({
      ...parts,
      use: 'client',
      maxLifetimeSeconds: CLIENT_ASSERTION_MAX_LIFETIME_SECONDS,
    }),
    grant: new AuthenticateByKey({ ...parts, use: 'grant', maxLifetimeSeconds: JWT_BEARER_MAX_LIFETIME_SECONDS }),
    ...(shared && { checks: [shared.dependency], close: () => shared.dependency.close() }),
    metrics(values) {
      const { used, max } = usedAssertions.load;
      values.gauge('auth_used_assertions', used, max);
    },
  };
}
