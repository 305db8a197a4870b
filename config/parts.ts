import type { Logger } from 'pino';
import type { InjectionToken } from 'tsyringe';
import type { LoadLimit } from '../adapters/http/admission/load-limit.ts';
import type { OperatorChecks } from '../adapters/http/admission/operator-checks.ts';
import type { RejectionDelay } from '../adapters/http/admission/rejection-delay.ts';
import type { HttpServer } from '../adapters/http/server/http-server.ts';
import type { Route } from '../adapters/http/server/koa-application.ts';
import type { Lifecycle } from '../adapters/http/server/running-server.ts';
import type { RefusalRecords } from '../adapters/http/status-page/refusal-records.ts';
import type { ServiceStatus } from '../adapters/http/status-page/service-status.ts';
import type { IssuerKeySets } from '../adapters/jwks-client/federated-jwt/issuer-key-sets.ts';
import type { NodeCryptoAssertionVerifier } from '../adapters/jwt/node-crypto-assertion-verifier.ts';
import type { LineBase } from '../adapters/log/json-log.ts';
import type { LineWriter } from '../adapters/log/line-writer.ts';
import type { IssuerKeyCache } from '../adapters/memory/federated-jwt/issuer-key-cache.ts';
import type { ReplicaRegister } from '../adapters/postgres/key-directory/replica-register.ts';
import type { MetricsScrape } from '../adapters/prom-client/metrics-scrape.ts';
import type { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import type { BcryptSecretVerifier } from '../adapters/secrets/bcrypt-secret-verifier.ts';
import type { PacedAttempts } from '../adapters/secrets/paced-attempts.ts';
import type { VerificationQueue } from '../adapters/secrets/verification-queue.ts';
import type { VerifiedSecretCache } from '../adapters/secrets/verified-secret-cache.ts';
import type { KeyRotationTimer } from '../adapters/system/key-rotation-timer.ts';
import type { WorkerPool } from '../adapters/workers/worker-pool.ts';
import type { AuthenticateBySecret } from '../application/authenticate-by-secret.ts';
import type { AuthorizeRequest } from '../application/authorize-request.ts';
import type { FindLocation } from '../application/example-resource/find-location.ts';
import type { AuthenticateByIdentity } from '../application/federated-jwt/authenticate-by-identity.ts';
import type { IssueToken } from '../application/issue-token.ts';
import type { KeyRing } from '../application/keys/key-ring.ts';
import type { AuditLog } from '../application/ports/audit-log.ts';
import type { ClientAuthentication } from '../application/ports/client-authentication.ts';
import type { ClientCredentials } from '../application/ports/client-credentials.ts';
import type { ClientKeys } from '../application/ports/client-keys.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { ClientResources } from '../application/ports/client-resources.ts';
import type { Clock, MonotonicClock } from '../application/ports/clock.ts';
import type { FederatedClients } from '../application/ports/federated-clients.ts';
import type { Dependency } from '../application/ports/health-check.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import type { IssuerKeySet } from '../application/ports/issuer-keys.ts';
import type { KeyDirectory } from '../application/ports/key-directory.ts';
import type { KeyFactory } from '../application/ports/key-factory.ts';
import type { KeyProvider } from '../application/ports/key-provider.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import type { UsedAssertions, UsedAssertionsStore } from '../application/ports/used-assertions.ts';
import type { ClosableVerificationSlots } from '../application/ports/verification-slots.ts';
import type { AuthenticateByKey } from '../application/private-key-jwt/authenticate-by-key.ts';
import type { VerifyAssertion } from '../application/verify-assertion.ts';
import type { ExpiringCredentials } from '../domain/client-details.ts';
import type { AuditOutput } from './open-audit.ts';

function token<Part>(name: string): InjectionToken<Part> {
  return Symbol(name);
}

/** `single` does everything. With workers, `primary` does everything except answering requests, and `worker` answers them. */
export type ProcessRole = 'single' | 'primary' | 'worker';

/** The parts that have more than one user, or that a process or a test replaces. Each name has a type, so `resolve` is typed. */
export const PARTS = {
  logDestination: token<LineWriter>('LineWriter of the log'),
  /** Members of every log line of this process. */
  logBase: token<LineBase>('logBase'),
  log: token<Logger>('Logger'),
  clock: token<Clock>('Clock'),
  monotonicClock: token<MonotonicClock>('MonotonicClock'),
  ids: token<IdGenerator>('IdGenerator'),
  auditOutput: token<AuditOutput>('AuditOutput'),
  auditLog: token<AuditLog>('AuditLog'),
  clientRepository: token<ClientRepository>('ClientRepository'),
  clientResources: token<ClientResources>('ClientResources'),
  /** The latest counts, without what is not known. */
  expiringCredentials: token<() => Partial<ExpiringCredentials>>('expiringCredentials'),
  verifiedSecrets: token<VerifiedSecretCache>('VerifiedSecretCache'),
  verificationQueue: token<VerificationQueue>('VerificationQueue'),
  pacedAttempts: token<PacedAttempts>('PacedAttempts'),
  verificationSlots: token<ClosableVerificationSlots>('VerificationSlots'),
  /** Called with each BCrypt cost that refusals get. */
  onCostFound: token<(cost: number) => void>('onCostFound'),
  bcryptVerifier: token<BcryptSecretVerifier>('BcryptSecretVerifier'),
  secretVerifier: token<SecretVerifier>('SecretVerifier'),
  authenticateBySecret: token<AuthenticateBySecret>('AuthenticateBySecret'),
  clientKeys: token<ClientKeys>('ClientKeys'),
  assertionVerifier: token<NodeCryptoAssertionVerifier>('NodeCryptoAssertionVerifier'),
  /** Each process that answers requests has its own. */
  assertionQueue: token<VerificationQueue>('assertion VerificationQueue'),
  verifyAssertion: token<VerifyAssertion>('VerifyAssertion'),
  usedAssertionsStore: token<UsedAssertionsStore>('UsedAssertionsStore'),
  usedAssertions: token<UsedAssertions>('UsedAssertions'),
  authenticateByKey: token<AuthenticateByKey>('AuthenticateByKey'),
  federatedClients: token<FederatedClients>('FederatedClients'),
  issuerKeys: token<IssuerKeyCache>('IssuerKeyCache'),
  /** Called with the key sets of all trusted issuers when one has changed. */
  onIssuerKeys: token<(sets: ReadonlyMap<string, IssuerKeySet>) => void>('onIssuerKeys'),
  issuerKeySets: token<IssuerKeySets>('IssuerKeySets'),
  authenticateByIdentity: token<AuthenticateByIdentity>('AuthenticateByIdentity'),
  authenticateClient: token<ClientAuthentication<ClientCredentials>>('AuthenticateClient'),
  keyFactory: token<KeyFactory>('KeyFactory'),
  keyDirectory: token<KeyDirectory>('KeyDirectory'),
  keyRing: token<KeyRing>('KeyRing'),
  keyRotation: token<KeyRotationTimer>('KeyRotationTimer'),
  keyProvider: token<KeyProvider>('KeyProvider'),
  issueToken: token<IssueToken>('IssueToken'),
  authorizeRequest: token<AuthorizeRequest>('AuthorizeRequest'),
  findLocation: token<FindLocation>('FindLocation'),
  /** Aborted when a signal asks the process to stop: a start that would wait for long is given up. */
  stopRequested: token<AbortSignal>('AbortSignal'),
  dependencies: token<readonly Dependency[]>('Dependency[]'),
  workerPool: token<WorkerPool>('WorkerPool'),
  processMetrics: token<ProcessMetrics>('ProcessMetrics'),
  loadLimit: token<LoadLimit>('LoadLimit'),
  rejectionDelay: token<RejectionDelay>('RejectionDelay'),
  routes: token<readonly Route[]>('Route[]'),
  httpServer: token<HttpServer>('HttpServer'),
  lifecycle: token<Lifecycle>('Lifecycle'),
  metricsScrape: token<MetricsScrape>('MetricsScrape'),
  operatorChecks: token<OperatorChecks>('OperatorChecks'),
  refusalRecords: token<RefusalRecords>('RefusalRecords'),
  replicaRegister: token<Pick<ReplicaRegister, 'latest' | 'start'>>('ReplicaRegister'),
  serviceStatus: token<ServiceStatus>('ServiceStatus'),
  managementServer: token<HttpServer>('management HttpServer'),
};
