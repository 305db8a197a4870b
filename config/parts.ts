import type { Logger } from 'pino';
import type { DependencyContainer, InjectionToken } from 'tsyringe';
import type { LoadLimit } from '../adapters/http/admission/load-limit.ts';
import type { RejectionDelay } from '../adapters/http/admission/rejection-delay.ts';
import type { ConnectionLayer, HttpServer, HttpServerParts } from '../adapters/http/server/http-server.ts';
import type { ApplicationParts, Route } from '../adapters/http/server/koa-application.ts';
import type { Lifecycle, RequestServer } from '../adapters/http/server/running-server.ts';
import type { NodeCryptoAssertionVerifier } from '../adapters/jwt/node-crypto-assertion-verifier.ts';
import type { SigningThreads } from '../adapters/jwt/signing-threads.ts';
import type { Lines } from '../adapters/log/line-writer.ts';
import type { Measure } from '../adapters/prom-client/metric-values.ts';
import type { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import type { BcryptSecretVerifier } from '../adapters/secrets/bcrypt-secret-verifier.ts';
import type { VerificationQueue } from '../adapters/secrets/verification-queue.ts';
import type { VerifiedSecretCache } from '../adapters/secrets/verified-secret-cache.ts';
import type { KeyRotationTimer } from '../adapters/system/key-rotation-timer.ts';
import type { IdentityAuthentication, PresentedAssertion } from '../application/authenticate-client.ts';
import type { AuthorizeRequest } from '../application/authorize-request.ts';
import type { IssueToken, TokenReuse } from '../application/issue-token.ts';
import type { KeyRing } from '../application/keys/key-ring.ts';
import type { Attempts } from '../application/ports/attempts.ts';
import type { AuditLog } from '../application/ports/audit-log.ts';
import type { ClientAuthentication, ClientCredentials } from '../application/ports/client-credentials.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { Clock, MonotonicClock } from '../application/ports/clock.ts';
import type { Dependency, HealthCheck } from '../application/ports/health-check.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import type { KeyFactory, KeyProvider } from '../application/ports/key-provider.ts';
import type { KeyRingStore } from '../application/ports/key-ring-store.ts';
import type { KeySealer } from '../application/ports/key-sealer.ts';
import type { ObservedPorts } from '../application/ports/observed-ports.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import type { Admission, RequestCounter } from '../application/ports/telemetry.ts';
import type { UsedAssertions } from '../application/ports/used-assertions.ts';
import type { VerifyAssertion } from '../application/verify-assertion.ts';
import type { AuditOutput } from './open-audit.ts';
import type { PoolWorks } from './pool-work.ts';
import type { OpenedStorage } from './storages.ts';

function token<Part>(name: string): InjectionToken<Part> {
  return Symbol(name);
}

/** The parts that have more than one user, or that a test replaces. Each name has a type, so `resolve` is typed. */
export const PARTS = {
  logDestination: token<Lines>('Lines of the log'),
  log: token<Logger>('Logger'),
  poolWorks: token<PoolWorks>('PoolWorks'),
  clock: token<Clock>('Clock'),
  monotonicClock: token<MonotonicClock>('MonotonicClock'),
  ids: token<IdGenerator>('IdGenerator'),
  auditOutput: token<AuditOutput>('AuditOutput'),
  auditLog: token<AuditLog>('AuditLog'),
  storage: token<OpenedStorage>('OpenedStorage'),
  clientRepository: token<ClientRepository>('ClientRepository'),
  verifiedSecrets: token<VerifiedSecretCache>('VerifiedSecretCache'),
  verificationQueue: token<VerificationQueue>('VerificationQueue'),
  attempts: token<Attempts>('Attempts'),
  bcryptVerifier: token<BcryptSecretVerifier>('BcryptSecretVerifier'),
  secretVerifier: token<SecretVerifier>('SecretVerifier'),
  assertionVerifier: token<NodeCryptoAssertionVerifier>('NodeCryptoAssertionVerifier'),
  assertionQueue: token<VerificationQueue>('assertion VerificationQueue'),
  verifyAssertion: token<VerifyAssertion>('VerifyAssertion'),
  usedAssertions: token<UsedAssertions>('UsedAssertions'),
  /** `private_key_jwt`, if it is switched on. */
  authenticateByKey: token<ClientAuthentication<PresentedAssertion>>('AuthenticateByKey'),
  /** `federated_jwt`, if it is switched on. */
  authenticateByIdentity: token<IdentityAuthentication>('AuthenticateByIdentity'),
  authenticateClient: token<ClientAuthentication<ClientCredentials>>('AuthenticateClient'),
  signingThreads: token<SigningThreads>('SigningThreads'),
  keyFactory: token<KeyFactory>('KeyFactory'),
  /** The ring of all replicas, if they share one. */
  sharedKeyRing: token<{ readonly store: KeyRingStore; readonly sealer: KeySealer }>('shared KeyRingStore'),
  keyRing: token<KeyRing>('KeyRing'),
  keyRotation: token<KeyRotationTimer>('KeyRotationTimer'),
  keyProvider: token<KeyProvider>('KeyProvider'),
  tokenReuse: token<TokenReuse>('TokenReuse'),
  issueToken: token<IssueToken>('IssueToken'),
  authorizeRequest: token<AuthorizeRequest>('AuthorizeRequest'),
  /** Returns ports that do the same and are observed, if anything observes them. */
  observe: token<ObservedPorts>('observe'),
  /** What observes the steps of a request. */
  observedPorts: token<ObservedPorts>('ObservedPorts'),
  /** Members that each line of the log gets while a request is answered. */
  logMembers: token<() => object>('logMembers'),
  aroundRequests: token<NonNullable<HttpServerParts['around']>>('aroundRequests'),
  healthChecks: token<() => readonly HealthCheck[]>('HealthCheck[]'),
  dependencies: token<readonly Dependency[]>('Dependency[]'),
  processMetrics: token<ProcessMetrics>('ProcessMetrics'),
  loadLimit: token<LoadLimit>('LoadLimit'),
  rejectionDelay: token<RejectionDelay>('RejectionDelay'),
  routes: token<readonly Route[]>('Route[]'),
  httpServer: token<RequestServer>('RequestServer'),
  publicApplication: token<ApplicationParts & Admission & Pick<HttpServerParts, 'timeouts'>>(
    'ApplicationParts of the public port',
  ),
  lifecycle: token<Lifecycle>('Lifecycle'),
  /** All routes of the management port. */
  managementRoutes: token<readonly Route[]>('management Route[]'),
  managementServer: token<HttpServer>('management HttpServer'),
};

/** Lists of the core that capabilities add to: each is registered any number of times, and read with `get.all`. */
export const LISTS = {
  /** Resolves when the dependency is open, and its parts are registered. Rejects if it cannot be used at all. */
  openers: token<(parts: DependencyContainer) => Promise<Dependency>>('opener'),
  /** Dependencies that need not be opened. */
  dependencies: token<Dependency>('Dependency'),
  /** What has to be ready before the public port opens. */
  preparations: token<() => Promise<void>>('preparation'),
  /** What is started once the keys are published. Must not throw. */
  background: token<() => void>('background'),
  /** What SIGHUP asks to be read again, beside AUDIT_FILE. Must not throw. */
  reloads: token<() => void>('reload'),
  closables: token<{ close(): Promise<void> }>('closable'),
  /** What comes before HTTP on the public port, in this order. */
  connectionLayers: token<ConnectionLayer>('ConnectionLayer'),
  publicRoutes: token<readonly Route[]>('public Route[]'),
  managementRoutes: token<readonly Route[]>('more management Route[]'),
  requestCounters: token<RequestCounter>('RequestCounter'),
  measurements: token<Measure>('measurement'),
};
