import 'reflect-metadata';
import { type DependencyContainer, type InjectionToken, instanceCachingFactory, container as root } from 'tsyringe';
import type { LoadLimit } from '../adapters/http/admission/load-limit.ts';
import type { RejectionDelay } from '../adapters/http/admission/rejection-delay.ts';
import type { Lifecycle } from '../adapters/http/server/running-server.ts';
import type { SigningThreads } from '../adapters/jwt/signing-threads.ts';
import type { AuditOutput } from '../adapters/log/audit-output.ts';
import type { JsonLog } from '../adapters/log/json-log.ts';
import type { Lines } from '../adapters/log/line-writer.ts';
import type { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import type { VerificationQueue } from '../adapters/secrets/verification-queue.ts';
import type { AuthorizeRequest } from '../application/authorize-request.ts';
import type { IssueToken } from '../application/issue-token.ts';
import type { AuditLog } from '../application/ports/audit-log.ts';
import type {
  AssertionCredentials,
  ClientAuthentication,
  ClientCredentials,
} from '../application/ports/client-credentials.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { Clock, MonotonicClock } from '../application/ports/clock.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import type { KeyFactory, KeyProvider } from '../application/ports/key-provider.ts';
import type { Revocations } from '../application/ports/revocations.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import type { UsedAssertions } from '../application/ports/used-assertions.ts';
import type { VerifyAssertion } from '../application/verify-assertion.ts';
import type { OpenClients } from './storages/storage.ts';

/** The container of one service, with its parts. */
export type Core = DependencyContainer;

export function createCore(): Core {
  return root.createChildContainer();
}

/**
 * Registers how a part is created: once, when it is first needed. What is registered already stays, such as a port that a
 * test has put into the container.
 */
export function part<Part>(core: Core, token: InjectionToken<Part>, create: (core: Core) => Part): void {
  if (!core.isRegistered(token)) core.register(token, { useFactory: instanceCachingFactory(create) });
}

function token<Part>(name: string): InjectionToken<Part> {
  return Symbol(name);
}

/** The parts that have more than one user, or that a test replaces. Each name has a type, so `resolve` is typed. */
export const PARTS = {
  logDestination: token<Lines>('Lines of the log'),
  log: token<JsonLog>('JsonLog'),
  /** False where nothing may be changed: for the doctor. */
  mayCreate: token<boolean>('whether tables and keys may be created'),
  clock: token<Clock>('Clock'),
  monotonicClock: token<MonotonicClock>('MonotonicClock'),
  ids: token<IdGenerator>('IdGenerator'),
  auditOutput: token<AuditOutput>('AuditOutput'),
  auditLog: token<AuditLog>('AuditLog'),
  storage: token<OpenClients>('OpenClients'),
  clientRepository: token<ClientRepository>('ClientRepository'),
  verificationQueue: token<VerificationQueue>('VerificationQueue'),
  secretVerifier: token<SecretVerifier>('SecretVerifier'),
  assertionQueue: token<VerificationQueue>('assertion VerificationQueue'),
  verifyAssertion: token<VerifyAssertion>('VerifyAssertion'),
  usedAssertions: token<UsedAssertions>('UsedAssertions'),
  /** Undefined where tokens cannot be revoked. */
  revocations: token<Revocations | undefined>('Revocations'),
  authenticateClient: token<ClientAuthentication<ClientCredentials>>('AuthenticateClient'),
  /** Undefined without the grant. */
  authenticateGrant: token<ClientAuthentication<AssertionCredentials> | undefined>(
    'AuthenticateClient of the grant jwt-bearer',
  ),
  signingThreads: token<SigningThreads>('SigningThreads'),
  keyFactory: token<KeyFactory>('KeyFactory'),
  keyProvider: token<KeyProvider>('KeyProvider'),
  /** The time in tokens. */
  tokenClock: token<Clock>('TokenClock'),
  issueToken: token<IssueToken>('IssueToken'),
  authorizeRequest: token<AuthorizeRequest>('AuthorizeRequest'),
  processMetrics: token<ProcessMetrics>('ProcessMetrics'),
  loadLimit: token<LoadLimit>('LoadLimit'),
  rejectionDelay: token<RejectionDelay>('RejectionDelay'),
  lifecycle: token<Lifecycle>('Lifecycle'),
};
