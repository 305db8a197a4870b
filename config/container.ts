import 'reflect-metadata';
import {
  type DependencyContainer,
  type InjectionToken,
  instanceCachingFactory,
  container as rootContainer,
} from 'tsyringe';
import { EventLoopDelay } from '../adapters/http/admission/event-loop-delay.ts';
import { LOAD_LIMITS } from '../adapters/http/admission/load-limit.ts';
import { RefusalPace } from '../adapters/http/admission/rejection-delay.ts';
import { HTTP_TIMEOUTS } from '../adapters/http/server/http-server.ts';
import { JoseTokenVerifier } from '../adapters/jwt/jose-token-verifier.ts';
import { Rs256TokenSigner } from '../adapters/jwt/rs256-token-signer.ts';
import { InMemoryKeyDirectory } from '../adapters/memory/in-memory-key-directory.ts';
import { InMemoryLocationCatalog } from '../adapters/memory/in-memory-location-catalog.ts';
import { PLACES } from '../adapters/memory/places.ts';
import { createJsonLog } from '../adapters/pino/json-log.ts';
import { PinoAuditLog } from '../adapters/pino/pino-audit-log.ts';
import { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import { CheckQueue } from '../adapters/secrets/verification-queue.ts';
import { RandomIdGenerator } from '../adapters/system/random-id-generator.ts';
import { SystemClock } from '../adapters/system/system-clock.ts';
import { AuthenticateClient } from '../application/authenticate-client.ts';
import { AuthorizeRequest } from '../application/authorize-request.ts';
import { FindLocation } from '../application/find-location.ts';
import { IssueToken } from '../application/issue-token.ts';
import { PublishKeys } from '../application/keys/publish-keys.ts';
import { TokenPolicy } from '../domain/token-policy.ts';
import { checkQueueLimits, createCheckTurns } from './check-turns.ts';
import { fillClientRepository } from './in-memory-clients.ts';
import { createKeyFactory } from './key-factory.ts';
import { createKeyRing } from './key-ring.ts';
import { Lifecycle } from './lifecycle.ts';
import { type Duty, openDependencies } from './open-dependencies.ts';
import { createRememberedSecrets } from './remembered-secrets.ts';
import { createRequestLog } from './request-log.ts';
import { createManagementRoutes, createRoutes } from './routes.ts';
import { createScrape } from './scrape.ts';
import { createSecretVerifier } from './secret-verifier.ts';
import { createLoadLimit, createServer } from './server.ts';
import type { Configuration } from './settings/configuration.ts';
import { TOKENS } from './tokens.ts';
import { soleWorkforce } from './workforce.ts';

/** How far the clocks of replicas may be apart. */
const REPLICA_LEEWAY_SECONDS = 1;

/** Puts other parts in the place of the service's own, before anything is resolved. */
export type Override = (container: DependencyContainer) => void;

/** The composition root: every part of the service, made once, when it is first asked for. */
export async function buildContainer(
  configuration: Configuration,
  override: Override = () => {},
  duties: readonly Duty[] = ['clients', 'keys'],
): Promise<DependencyContainer> {
  const { settings, clients, keyFile } = configuration;
  const container = rootContainer.createChildContainer();
  const get = <Part>(token: InjectionToken<Part>): Part => container.resolve(token);
  const part = <Part>(token: InjectionToken<Part>, make: () => Part) =>
    container.register(token, { useFactory: instanceCachingFactory(make) });

  part(TOKENS.log, () => createJsonLog());
  part(TOKENS.clock, () => new SystemClock());
  part(TOKENS.ids, () => new RandomIdGenerator());
  part(TOKENS.auditLog, () => new PinoAuditLog(get(TOKENS.log)));
  part(TOKENS.checkQueue, () => new CheckQueue(checkQueueLimits(settings)));
  part(TOKENS.checkTurns, () => createCheckTurns(settings, get(TOKENS.checkQueue)));
  part(TOKENS.rememberedSecrets, () => createRememberedSecrets(settings, get(TOKENS.clock)));
  part(TOKENS.secretVerifier, () => createSecretVerifier(configuration, get));
  if (settings.CLIENT_REPOSITORY === 'memory') {
    part(TOKENS.clientRepository, () => fillClientRepository(clients, get(TOKENS.ids)));
  }
  part(TOKENS.keyFactory, () => createKeyFactory(keyFile, get(TOKENS.ids)));
  if (settings.KEY_DIRECTORY === 'memory') part(TOKENS.keyDirectory, () => new InMemoryKeyDirectory());
  part(TOKENS.onKeysAdvanced, () => () => {});
  part(TOKENS.keyRing, () => createKeyRing(settings, get));
  part(TOKENS.keyProvider, () => get(TOKENS.keyRing));
  part(TOKENS.tokenSigner, () => new Rs256TokenSigner(get(TOKENS.keyProvider), get(TOKENS.tokenPolicy).type));
  part(TOKENS.tokenVerifier, () => new JoseTokenVerifier(get(TOKENS.keyProvider)));
  part(TOKENS.locationCatalog, () => new InMemoryLocationCatalog(PLACES));

  part(TOKENS.tokenPolicy, () => new TokenPolicy(tokenPolicyOptions(settings)));
  part(
    TOKENS.authenticateClient,
    () => new AuthenticateClient(get(TOKENS.clientRepository), get(TOKENS.secretVerifier)),
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
        // A fellow replica's clock may be a moment ahead of ours; our own is not.
        leewaySeconds: settings.KEY_DIRECTORY === 'memory' ? 0 : REPLICA_LEEWAY_SECONDS,
      }),
  );
  part(TOKENS.findLocation, () => new FindLocation(get(TOKENS.locationCatalog)));
  part(TOKENS.publishKeys, () => new PublishKeys(get(TOKENS.keyProvider)));

  part(TOKENS.processMetrics, () => new ProcessMetrics('primary'));
  part(TOKENS.requestLog, () => createRequestLog(get(TOKENS.log), get(TOKENS.processMetrics).count));
  part(TOKENS.httpTimeouts, () => HTTP_TIMEOUTS);
  part(TOKENS.loadLimits, () => LOAD_LIMITS);
  part(TOKENS.loadLimit, () => createLoadLimit(get));
  part(TOKENS.refusalPace, () => new RefusalPace());
  part(TOKENS.eventLoopDelay, () => new EventLoopDelay());
  part(TOKENS.routes, () => createRoutes(settings, get));
  part(TOKENS.httpServer, () => createServer(get(TOKENS.routes), get(TOKENS.requestLog), get(TOKENS.loadLimit), get));
  part(TOKENS.lifecycle, () => new Lifecycle());
  part(TOKENS.healthChecks, () => () => [get(TOKENS.lifecycle), ...get(TOKENS.dependencies)]);
  part(TOKENS.workforce, () => soleWorkforce(() => get(TOKENS.httpServer)));
  part(TOKENS.scrape, () => createScrape(get));
  part(TOKENS.managementRoutes, () => createManagementRoutes(get(TOKENS.healthChecks), get(TOKENS.scrape)));
  // Probes come every second: what they are told is logged where it changes, not each time.
  part(TOKENS.managementServer, () => createServer(get(TOKENS.managementRoutes), () => {}, createLoadLimit(get), get));

  override(container);
  container.registerInstance(TOKENS.dependencies, await openDependencies(container, settings, duties));
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
