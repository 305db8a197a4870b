import 'reflect-metadata';
import {
  type DependencyContainer,
  type InjectionToken,
  instanceCachingFactory,
  container as rootContainer,
} from 'tsyringe';
import { LOAD_LIMITS, LoadLimit } from '../adapters/http/admission/load-limit.ts';
import { RejectionDelay } from '../adapters/http/admission/rejection-delay.ts';
import { HttpServer } from '../adapters/http/server/http-server.ts';
import type { RequestLog } from '../adapters/http/server/request-log.ts';
import { Lifecycle } from '../adapters/http/server/running-server.ts';
import { JoseTokenVerifier } from '../adapters/jwt/jose-token-verifier.ts';
import { PrivateKeys } from '../adapters/jwt/private-keys.ts';
import { Rs256TokenSigner } from '../adapters/jwt/rs256-token-signer.ts';
import { InMemoryKeyDirectory } from '../adapters/memory/in-memory-key-directory.ts';
import { InMemoryLocationCatalog } from '../adapters/memory/in-memory-location-catalog.ts';
import { PLACES } from '../adapters/memory/places.ts';
import { createJsonLog } from '../adapters/pino/json-log.ts';
import { PinoAuditLog } from '../adapters/pino/pino-audit-log.ts';
import { MetricsScrape } from '../adapters/prom-client/metrics-scrape.ts';
import { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import { RandomIdGenerator, SystemClock } from '../adapters/system/system.ts';
import { AuthenticateClient } from '../application/authenticate-client.ts';
import { AuthorizeRequest } from '../application/authorize-request.ts';
import { FindLocation } from '../application/find-location.ts';
import { IssueToken } from '../application/issue-token.ts';
import { PublishKeys } from '../application/keys/publish-keys.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import { TokenPolicy } from '../domain/token-policy.ts';
import { createKeyFactory, createKeyRing } from './compose-keys.ts';
import {
  createSecretVerifier,
  createVerificationQueue,
  createVerifiedSecretCache,
  limitAttempts,
} from './compose-secrets.ts';
import { logConnectionFault } from './connection-fault.ts';
import { fillClientRepository } from './in-memory-clients.ts';
import { openDependencies } from './open-dependencies.ts';
import { createManagementRoutes, createRoutes } from './routes.ts';
import type { Configuration } from './settings/configuration.ts';
import { type ProcessRole, TOKENS } from './tokens.ts';

/** How far the clocks of replicas may be apart. */
const REPLICA_LEEWAY_SECONDS = 1;

/** Probes come every second, so requests to the management port are not logged. Health is logged when it changes. */
const NO_LOG: RequestLog = { info: () => {}, error: () => {} };

/** Registers parts that take the place of the service's own. */
export type Override = (container: DependencyContainer) => void;

/** The composition root: every part of the service, created once, when it is first needed. */
export async function buildContainer(
  configuration: Configuration,
  role: ProcessRole,
  override: Override = () => {},
): Promise<DependencyContainer> {
  const { settings, clients, keyFile, httpTimeouts } = configuration;
  const container = rootContainer.createChildContainer();
  const get = <Part>(token: InjectionToken<Part>): Part => container.resolve(token);
  const part = <Part>(token: InjectionToken<Part>, create: () => Part) =>
    container.register(token, { useFactory: instanceCachingFactory(create) });

  part(TOKENS.log, () => createJsonLog());
  part(TOKENS.clock, () => new SystemClock());
  part(TOKENS.ids, () => new RandomIdGenerator());
  part(TOKENS.auditLog, () => new PinoAuditLog(get(TOKENS.log)));

  // Clients and their secrets.
  if (settings.CLIENT_REPOSITORY === 'memory') {
    part(TOKENS.clientRepository, () => fillClientRepository(clients, get(TOKENS.ids)));
  }
  part(TOKENS.verifiedSecrets, () => createVerifiedSecretCache(settings, get(TOKENS.clock)));
  part(TOKENS.verificationQueue, () => createVerificationQueue(settings));
  part(TOKENS.verificationSlots, () => limitAttempts(get(TOKENS.verificationQueue), settings));
  part(TOKENS.secretVerifier, () => createSecretVerifier(configuration));

  // Keys and tokens.
  part(TOKENS.privateKeys, () => new PrivateKeys());
  part(TOKENS.keyFactory, () =>
    createKeyFactory(keyFile, get(TOKENS.ids), role === 'primary' ? get(TOKENS.privateKeys) : undefined),
  );
  if (settings.KEY_DIRECTORY === 'memory') part(TOKENS.keyDirectory, () => new InMemoryKeyDirectory());
  part(TOKENS.keyRing, () =>
    createKeyRing(settings, {
      factory: get(TOKENS.keyFactory),
      directory: get(TOKENS.keyDirectory),
      clock: get(TOKENS.clock),
      auditLog: get(TOKENS.auditLog),
    }),
  );
  part(TOKENS.keyProvider, () => get(TOKENS.keyRing));
  part(TOKENS.tokenSigner, () => new Rs256TokenSigner(get(TOKENS.keyProvider), get(TOKENS.tokenPolicy).type));
  part(TOKENS.tokenVerifier, () => new JoseTokenVerifier(get(TOKENS.keyProvider)));
  part(TOKENS.tokenPolicy, () => new TokenPolicy(tokenPolicyOptions(settings)));

  // Use cases.
  part(
    TOKENS.authenticateClient,
    () =>
      new AuthenticateClient({
        clients: get(TOKENS.clientRepository),
        verifiedSecrets: get(TOKENS.verifiedSecrets),
        slots: get(TOKENS.loadLimit).exempt(get(TOKENS.verificationSlots)),
        secrets: get(TOKENS.secretVerifier),
      }),
  );
  part(
    TOKENS.issueToken,
    () =>
      new IssueToken({
        authenticateClient: get(TOKENS.authenticateClient),
        policy: get(TOKENS.tokenPolicy),
        signer: get(TOKENS.tokenSigner),
        clock: get(TOKENS.clock),
        ids: get(TOKENS.ids),
        auditLog: get(TOKENS.auditLog),
      }),
  );
  part(
    TOKENS.authorizeRequest,
    () =>
      new AuthorizeRequest(get(TOKENS.tokenVerifier), get(TOKENS.clock), {
        issuer: settings.TOKEN_ISSUER,
        audience: settings.TOKEN_AUDIENCE,
        // The clock of a peer may be a moment ahead of ours.
        leewaySeconds: settings.KEY_DIRECTORY === 'memory' ? 0 : REPLICA_LEEWAY_SECONDS,
      }),
  );
  part(TOKENS.locationCatalog, () => new InMemoryLocationCatalog(PLACES));
  part(TOKENS.findLocation, () => new FindLocation(get(TOKENS.locationCatalog)));
  part(TOKENS.publishKeys, () => new PublishKeys(get(TOKENS.keyProvider)));

  // The public port.
  part(TOKENS.processMetrics, () => new ProcessMetrics('primary'));
  part(TOKENS.loadLimit, () => new LoadLimit(LOAD_LIMITS));
  part(TOKENS.rejectionDelay, () => new RejectionDelay());
  part(TOKENS.routes, () =>
    createRoutes(settings, {
      issueToken: get(TOKENS.issueToken),
      publishKeys: get(TOKENS.publishKeys),
      findLocation: get(TOKENS.findLocation),
      load: get(TOKENS.loadLimit),
    }),
  );
  const serverParts = () => ({
    authorizeRequest: get(TOKENS.authorizeRequest),
    ids: get(TOKENS.ids),
    rejectionDelay: get(TOKENS.rejectionDelay),
    timeouts: httpTimeouts,
    onFault: (fault: unknown) => logConnectionFault(get(TOKENS.log), fault),
  });
  part(
    TOKENS.httpServer,
    () =>
      new HttpServer({
        ...serverParts(),
        routes: get(TOKENS.routes),
        log: get(TOKENS.log),
        metrics: get(TOKENS.processMetrics),
        load: get(TOKENS.loadLimit),
      }),
  );

  // The management port.
  part(TOKENS.lifecycle, () => new Lifecycle());
  const pool = () => (role === 'primary' ? get(TOKENS.workerPool) : undefined);
  const healthChecks = (): readonly HealthCheck[] => [
    get(TOKENS.lifecycle),
    ...(pool()?.healthChecks() ?? []),
    ...get(TOKENS.dependencies),
  ];
  part(TOKENS.managementServer, () => {
    const metrics = new MetricsScrape({
      process: get(TOKENS.processMetrics),
      service: () => ({
        ready: healthChecks().every((check) => check.readiness().ready),
        workers: role === 'primary' ? settings.WORKERS : 1,
        listening: pool()?.listening ?? Number(get(TOKENS.httpServer).listening),
        verifications: get(TOKENS.verificationQueue).load,
      }),
      workers: async () => (await pool()?.metrics()) ?? new Map(),
    });
    const routes = createManagementRoutes(healthChecks, () => metrics.scrape());
    return new HttpServer({ ...serverParts(), routes, log: NO_LOG, load: new LoadLimit(LOAD_LIMITS) });
  });

  override(container);
  container.registerInstance(TOKENS.dependencies, await openDependencies(container, settings, role));
  return container;
}

function tokenPolicyOptions(settings: Configuration['settings']) {
  return {
    issuer: settings.TOKEN_ISSUER,
    lifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
    profile: settings.TOKEN_PROFILE,
    audience: settings.TOKEN_AUDIENCE,
    scopeClaim: settings.TOKEN_SCOPE_CLAIM ? 'array' : 'absent',
  } as const;
}
