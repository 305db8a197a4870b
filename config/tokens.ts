import type { Server } from 'node:http';
import type { Logger } from 'pino';
import type { InjectionToken } from 'tsyringe';
import type { EventLoopDelay } from '../adapters/http/admission/event-loop-delay.ts';
import type { LoadLimit, LoadLimits } from '../adapters/http/admission/load-limit.ts';
import type { RefusalPace } from '../adapters/http/admission/rejection-delay.ts';
import type { Scrape } from '../adapters/http/endpoints/metrics-endpoint.ts';
import type { HttpTimeouts } from '../adapters/http/server/http-server.ts';
import type { RequestLog } from '../adapters/http/server/request-log.ts';
import type { Route } from '../adapters/http/server/route.ts';
import type { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import type { CheckQueue } from '../adapters/secrets/verification-queue.ts';
import type { RememberedSecrets } from '../adapters/secrets/verified-secret-cache.ts';
import type { AuthenticateClient } from '../application/authenticate-client.ts';
import type { AuthorizeRequest } from '../application/authorize-request.ts';
import type { FindLocation } from '../application/find-location.ts';
import type { IssueToken } from '../application/issue-token.ts';
import type { KeyRing } from '../application/keys/key-ring.ts';
import type { PublishKeys } from '../application/keys/publish-keys.ts';
import type { AuditLog } from '../application/ports/audit-log.ts';
import type { CheckTurns } from '../application/ports/check-turns.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import type { KeyDirectory } from '../application/ports/key-directory.ts';
import type { KeyFactory } from '../application/ports/key-factory.ts';
import type { KeyProvider } from '../application/ports/key-provider.ts';
import type { LocationCatalog } from '../application/ports/location-catalog.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import type { TokenSigner } from '../application/ports/token-signer.ts';
import type { TokenVerifier } from '../application/ports/token-verifier.ts';
import type { TokenPolicy } from '../domain/token-policy.ts';
import type { Dependency } from './dependency.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Workforce } from './workforce.ts';

/** Answers the part of a name. */
export type Get = <Part>(token: InjectionToken<Part>) => Part;

function token<Part>(name: string): InjectionToken<Part> {
  return Symbol(name);
}

/** The name of every part of the service, with its type, so that `resolve` answers a typed part. */
export const TOKENS = {
  log: token<Logger>('log'),
  clock: token<Clock>('Clock'),
  ids: token<IdGenerator>('IdGenerator'),
  auditLog: token<AuditLog>('AuditLog'),
  clientRepository: token<ClientRepository>('ClientRepository'),
  checkQueue: token<CheckQueue>('CheckQueue'),
  checkTurns: token<CheckTurns>('CheckTurns'),
  rememberedSecrets: token<RememberedSecrets>('RememberedSecrets'),
  secretVerifier: token<SecretVerifier>('SecretVerifier'),
  keyFactory: token<KeyFactory>('KeyFactory'),
  keyDirectory: token<KeyDirectory>('KeyDirectory'),
  keyRing: token<KeyRing>('KeyRing'),
  onKeysAdvanced: token<() => void>('on keys advanced'),
  keyProvider: token<KeyProvider>('KeyProvider'),
  tokenSigner: token<TokenSigner>('TokenSigner'),
  tokenVerifier: token<TokenVerifier>('TokenVerifier'),
  locationCatalog: token<LocationCatalog>('LocationCatalog'),

  tokenPolicy: token<TokenPolicy>('TokenPolicy'),
  authenticateClient: token<AuthenticateClient>('AuthenticateClient'),
  issueToken: token<IssueToken>('IssueToken'),
  authorizeRequest: token<AuthorizeRequest>('AuthorizeRequest'),
  findLocation: token<FindLocation>('FindLocation'),
  publishKeys: token<PublishKeys>('PublishKeys'),

  dependencies: token<readonly Dependency[]>('dependencies'),
  processMetrics: token<ProcessMetrics>('ProcessMetrics'),
  requestLog: token<RequestLog>('RequestLog'),
  routes: token<readonly Route[]>('routes'),
  httpTimeouts: token<HttpTimeouts>('HttpTimeouts'),
  loadLimits: token<LoadLimits>('LoadLimits'),
  loadLimit: token<LoadLimit>('LoadLimit'),
  refusalPace: token<RefusalPace>('RefusalPace'),
  eventLoopDelay: token<EventLoopDelay>('EventLoopDelay'),
  httpServer: token<Server>('http server'),
  lifecycle: token<Lifecycle>('Lifecycle'),
  healthChecks: token<() => readonly HealthCheck[]>('health checks'),
  workforce: token<Workforce>('Workforce'),
  scrape: token<Scrape>('Scrape'),
  managementRoutes: token<readonly Route[]>('management routes'),
  managementServer: token<Server>('management server'),
};
