import { KEY_SET_TIMEOUT_MS } from '../../adapters/http-client/federated-jwt/fetch-issuer-keys.ts';
import { IssuerKeySets } from '../../adapters/http-client/federated-jwt/issuer-key-sets.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import type { IdentityAuthentication } from '../../application/authenticate-client.ts';
import { AuthenticateByIdentity } from '../../application/federated-jwt/authenticate-by-identity.ts';
import { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { type Core, PARTS } from '../container.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { verifiedMethods } from '../settings/verified-methods.ts';

interface FederatedJwt extends Feature {
  readonly method: IdentityAuthentication;
}

/** `federated_jwt`: clients authenticate with identities of other issuers, such as Kubernetes or GitHub. */
export function federatedJwt({ settings, issuers }: Configuration, core: Core): FederatedJwt | undefined {
  if (!verifiedMethods(settings).includes('federated_jwt')) return undefined;
  const keySets = new IssuerKeySets(issuers, {
    timeoutMs: KEY_SET_TIMEOUT_MS,
    refreshMs: settings.CLIENT_ASSERTION_KEYS_REFRESH_SECONDS * 1_000,
    staleMs: settings.CLIENT_ASSERTION_KEYS_STALE_SECONDS * 1_000,
    log: createStateLog(core.resolve(PARTS.log)),
  });
  const method = new AuthenticateByIdentity({
    issuers: new TrustedIssuers(issuers),
    issuerKeys: keySets,
    verifyAssertion: core.resolve(PARTS.verifyAssertion),
    clients: core.resolve(PARTS.clientRepository),
    clock: core.resolve(PARTS.clock),
    maxAgeSeconds: settings.CLIENT_ASSERTION_MAX_AGE_SECONDS,
  });
  return {
    method,
    checks: [keySets],
    prepare: () => keySets.start(),
    close: () => keySets.close(),
    metrics(values) {
      values.gauges('state', 'auth_issuer_key_sets', keySets.counts());
    },
  };
}
