import { createKeyFactory } from '../../adapters/jwt/create-key-factory.ts';
import { joseTokenVerifier } from '../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoTokenSigner } from '../../adapters/jwt/node-crypto-token-signer.ts';
import { SigningThreads } from '../../adapters/jwt/signing-threads.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { InMemoryKeyRing } from '../../adapters/memory/in-memory-key-ring.ts';
import { availableCores } from '../../adapters/system/host-limits.ts';
import { KeyRotationTimer } from '../../adapters/system/key-rotation-timer.ts';
import { AuthorizeRequest, type ExpectedToken, OWN_CLIENT } from '../../application/authorize-request.ts';
import { IssueToken, type TokenReuse } from '../../application/issue-token.ts';
import { KeyRing } from '../../application/keys/key-ring.ts';
import { KEY_TYPES } from '../../domain/token-key.ts';
import { TokenPolicy } from '../../domain/token-policy.ts';
import type { Feature } from '../feature.ts';
import type { KeyDirectory } from '../features/key-directory.ts';
import { type Core, PARTS, part } from '../parts.ts';
import type { Configuration } from '../settings/configuration.ts';
import { keyPolicy, tokenPolicyOptions } from '../settings/derived-values.ts';
import type { Settings } from '../settings/settings.ts';

/** How far the clocks of replicas may be apart. */
const REPLICA_LEEWAY_SECONDS = 1;

/** What generates keys, and the threads that sign with them. */
export function registerKeyFactory(core: Core, { keyFile }: Configuration): void {
  part(core, PARTS.signingThreads, () => new SigningThreads(availableCores()));
  part(core, PARTS.keyFactory, () => {
    return createKeyFactory({
      ids: core.resolve(PARTS.ids),
      threads: core.resolve(PARTS.signingThreads),
      file: keyFile,
    });
  });
}

/** The keys that sign, and what rotates them. Registers them. */
export function signingKeys(settings: Settings, core: Core, directory?: KeyDirectory): Feature {
  const clock = core.resolve(PARTS.monotonicClock);
  const own = new InMemoryKeyRing(core.resolve(PARTS.keyFactory), clock);
  const { store, sealer } = directory ?? { store: own, sealer: own };
  const policy = keyPolicy(settings);
  const ring = new KeyRing({ store, sealer, policy, clock, auditLog: core.resolve(PARTS.auditLog) });
  const log = createStateLog(core.resolve(PARTS.log));
  const rotation = new KeyRotationTimer(ring, { publicationSeconds: settings.KEY_PUBLICATION_SECONDS, log });
  const threads = core.resolve(PARTS.signingThreads);
  core.registerInstance(PARTS.keyRing, ring);
  core.registerInstance(PARTS.keyRotation, rotation);
  part(core, PARTS.keyProvider, () => ring);
  return {
    checks: [rotation],
    async prepare() {
      if (KEY_TYPES[settings.TOKEN_SIGNING_ALG].kty === 'RSA') threads.start();
      await rotation.start();
      refuseLockedKeys(ring);
    },
    async close() {
      await rotation.close();
      await threads.close();
    },
  };
}

/** Throws if a key of the ring, which replicas sign or verify with, needs a secret that this one does not have. */
function refuseLockedKeys(ring: KeyRing): void {
  const locked = ring.unusable().find(({ state }) => state === 'locked');
  if (locked === undefined) return;
  const problem = `KEY_SECRET_FILE: the key ${locked.kid} cannot be opened: ${locked.reason}`;
  throw new Error(`${problem}: bring that line back, or revoke the key: npm run keys -- revoke -- ${locked.kid}`);
}

/** The use cases that issue and verify tokens. */
export function registerUseCases(core: Core, settings: Settings, reuse: TokenReuse | undefined): void {
  part(core, PARTS.issueToken, () => {
    const policy = new TokenPolicy(tokenPolicyOptions(settings));
    return new IssueToken({
      authenticateClient: core.resolve(PARTS.authenticateClient),
      policy,
      signer: new NodeCryptoTokenSigner(core.resolve(PARTS.keyProvider), policy.type),
      clock: core.resolve(PARTS.clock),
      ids: core.resolve(PARTS.ids),
      auditLog: core.resolve(PARTS.auditLog),
      reuse,
    });
  });
  part(core, PARTS.authorizeRequest, () => {
    const expected: ExpectedToken = {
      issuer: settings.TOKEN_ISSUER,
      audience: settings.TOKEN_AUDIENCE ?? OWN_CLIENT,
      // The clock of another replica may be a moment ahead of ours.
      leewaySeconds: settings.CLIENT_REPOSITORY === 'memory' ? 0 : REPLICA_LEEWAY_SECONDS,
    };
    const verifier = joseTokenVerifier(core.resolve(PARTS.keyProvider));
    return new AuthorizeRequest(verifier, core.resolve(PARTS.clock), expected);
  });
}
