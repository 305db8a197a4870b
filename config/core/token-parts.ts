import type { DependencyContainer } from 'tsyringe';
import { createKeyFactory } from '../../adapters/jwt/create-key-factory.ts';
import { joseTokenVerifier } from '../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoTokenSigner } from '../../adapters/jwt/node-crypto-token-signer.ts';
import { SigningThreads } from '../../adapters/jwt/signing-threads.ts';
import { InMemoryKeyRing } from '../../adapters/memory/in-memory-key-ring.ts';
import { availableCores } from '../../adapters/system/host-limits.ts';
import { AuthorizeRequest, type ExpectedToken, OWN_CLIENT } from '../../application/authorize-request.ts';
import { IssueToken } from '../../application/issue-token.ts';
import { KeyRing } from '../../application/keys/key-ring.ts';
import { KEY_TYPES } from '../../domain/token-key.ts';
import { TokenPolicy } from '../../domain/token-policy.ts';
import type { Service } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { keyPolicy, tokenPolicyOptions } from '../settings/derived-values.ts';

/** How far the clocks of replicas may be apart. */
const REPLICA_LEEWAY_SECONDS = 1;

/** Signing keys, and the use cases that issue and verify tokens. */
export function registerTokenParts(parts: DependencyContainer, { configuration, settings }: Service): void {
  part(parts, PARTS.signingThreads, () => new SigningThreads(availableCores()));
  part(parts, LISTS.preparations, (get) => async () => {
    if (KEY_TYPES[settings.TOKEN_SIGNING_ALG].kty === 'RSA') get(PARTS.signingThreads).start();
  });
  part(parts, LISTS.closables, (get) => get(PARTS.signingThreads));
  part(parts, PARTS.keyFactory, (get) => {
    return createKeyFactory({ ids: get(PARTS.ids), threads: get(PARTS.signingThreads), file: configuration.keyFile });
  });
  part(parts, PARTS.keyRing, (get) => {
    const own = new InMemoryKeyRing(get(PARTS.keyFactory), get(PARTS.monotonicClock));
    return new KeyRing({
      ...(get.optional(PARTS.sharedKeyRing) ?? { store: own, sealer: own }),
      policy: keyPolicy(settings),
      clock: get(PARTS.monotonicClock),
      auditLog: get(PARTS.auditLog),
    });
  });
  part(parts, PARTS.keyProvider, (get) => get(PARTS.keyRing));

  part(parts, PARTS.issueToken, (get) => {
    const observe = get(PARTS.observe);
    const policy = new TokenPolicy(tokenPolicyOptions(settings));
    return new IssueToken({
      authenticateClient: get(PARTS.authenticateClient),
      policy,
      signer: observe.signer(new NodeCryptoTokenSigner(get(PARTS.keyProvider), policy.type)),
      clock: get(PARTS.clock),
      ids: get(PARTS.ids),
      auditLog: get(PARTS.auditLog),
      reuse: get.optional(PARTS.tokenReuse),
    });
  });
  part(parts, PARTS.authorizeRequest, (get) => {
    const expected: ExpectedToken = {
      issuer: settings.TOKEN_ISSUER,
      audience: settings.TOKEN_AUDIENCE ?? OWN_CLIENT,
      // The clock of another replica may be a moment ahead of ours.
      leewaySeconds: settings.CLIENT_REPOSITORY === 'memory' ? 0 : REPLICA_LEEWAY_SECONDS,
    };
    const verifier = get(PARTS.observe).tokens(joseTokenVerifier(get(PARTS.keyProvider)));
    return new AuthorizeRequest(verifier, get(PARTS.clock), expected);
  });
}
