import { AuthenticateClient, type AuthenticationStrategies } from '../../application/authenticate-client.ts';
import { AuthorizeRequest, type ExpectedToken, OWN_CLIENT } from '../../application/authorize-request.ts';
import { IssueToken } from '../../application/issue-token.ts';
import { TokenSigner } from '../../application/token-signer.ts';
import { sendOnlySecrets } from '../../domain/authentication-method.ts';
import { TokenPolicy } from '../../domain/token-policy.ts';
import { type Core, PARTS, part } from '../parts.ts';
import { tokenPolicyOptions } from '../settings/derived-values.ts';
import type { Settings } from '../settings/settings.ts';

/** How far the clocks of replicas may be apart. */
const REPLICA_LEEWAY_SECONDS = 1;

/** The clock of another replica may be a moment ahead of ours. */
export function leewaySeconds({ CLIENT_REPOSITORY: repository }: Pick<Settings, 'CLIENT_REPOSITORY'>): number {
  return repository === 'memory' ? 0 : REPLICA_LEEWAY_SECONDS;
}

/** Authentication by each of the methods that are switched on. */
export function registerAuthentication(
  core: Core,
  { CLIENT_AUTHENTICATION_METHODS: methods, GRANT_TYPES: grants }: Settings,
  strategies: AuthenticationStrategies,
  ofGrant: Pick<AuthenticationStrategies, 'private_key_jwt' | 'federated_jwt'>,
): void {
  part(core, PARTS.authenticateGrant, () =>
    grants.includes('jwt-bearer') ? new AuthenticateClient(ofGrant) : undefined,
  );
  part(core, PARTS.authenticateClient, () => {
    const { client_secret_post: bySecret } = strategies;
    if (bySecret !== undefined && sendOnlySecrets(methods)) return bySecret;
    return new AuthenticateClient(Object.fromEntries(methods.map((method) => [method, strategies[method]])));
  });
}

/** The use cases that issue and verify tokens. */
export function registerUseCases(core: Core, settings: Settings): void {
  part(core, PARTS.issueToken, () => {
    const policy = new TokenPolicy(tokenPolicyOptions(settings));
    return new IssueToken({
      authenticateClient: core.resolve(PARTS.authenticateClient),
      authenticateGrant: core.resolve(PARTS.authenticateGrant),
      policy,
      signer: new TokenSigner(core.resolve(PARTS.keyProvider), policy.type),
      clock: core.resolve(PARTS.tokenClock),
      isRevocable: settings.TOKEN_REVOCATION,
      ids: core.resolve(PARTS.ids),
      auditLog: core.resolve(PARTS.auditLog),
    });
  });
  part(core, PARTS.authorizeRequest, () => {
    const expected: ExpectedToken = {
      issuer: settings.TOKEN_ISSUER,
      audience: settings.TOKEN_AUDIENCE ?? OWN_CLIENT,
      leewaySeconds: leewaySeconds(settings),
    };
    return new AuthorizeRequest(
      ...([core.resolve(PARTS.keyProvider), core.resolve(PARTS.tokenClock)] as const),
      expected,
      core.resolve(PARTS.revocations),
    );
  });
}
