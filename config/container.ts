import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { type DependencyContainer, type InjectionToken, instanceCachingFactory, container as root } from 'tsyringe';
import { LOAD_LIMITS, LoadLimit } from '../adapters/http/admission/load-limit.ts';
import { RejectionDelay } from '../adapters/http/admission/rejection-delay.ts';
import { managementRoutes } from '../adapters/http/endpoints/management-routes.ts';
import { publicRoutes } from '../adapters/http/endpoints/public-routes.ts';
import { recordRefusedTokenRequests } from '../adapters/http/endpoints/refused-token-requests.ts';
import { locationRoute } from '../adapters/http/example-resource/location-route.ts';
import { clientAddressBehind } from '../adapters/http/parsing/client-address.ts';
import { ownHosts } from '../adapters/http/parsing/own-hosts.ts';
import { CONNECTIONS_MAX, HttpServer } from '../adapters/http/server/http-server.ts';
import { Lifecycle } from '../adapters/http/server/running-server.ts';
import { IssuerKeySets } from '../adapters/jwks-client/federated-jwt/issuer-key-sets.ts';
import { createKeyFactory } from '../adapters/jwt/create-key-factory.ts';
import { JoseTokenVerifier } from '../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoAssertionVerifier } from '../adapters/jwt/node-crypto-assertion-verifier.ts';
import { Rs256TokenSigner } from '../adapters/jwt/rs256-token-signer.ts';
import { JsonAuditLog } from '../adapters/log/json-audit-log.ts';
import { createJsonLog, openLogLines } from '../adapters/log/json-log.ts';
import { createStateLog } from '../adapters/log/state-log.ts';
import { InMemoryLocationCatalog, PLACES } from '../adapters/memory/example-resource/in-memory-location-catalog.ts';
import { InMemoryFederatedClients } from '../adapters/memory/federated-jwt/in-memory-federated-clients.ts';
import { IssuerKeyCache } from '../adapters/memory/federated-jwt/issuer-key-cache.ts';
import { InMemoryClientRepository } from '../adapters/memory/in-memory-client-repository.ts';
import { InMemoryClientResources } from '../adapters/memory/in-memory-client-resources.ts';
import { InMemoryKeyDirectory } from '../adapters/memory/in-memory-key-directory.ts';
import { InMemoryClientKeys } from '../adapters/memory/private-key-jwt/in-memory-client-keys.ts';
import { InMemoryUsedAssertions } from '../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import { MetricsScrape } from '../adapters/prom-client/metrics-scrape.ts';
import { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import { AttemptLimiter } from '../adapters/secrets/attempt-limiter.ts';
import { BcryptSecretVerifier, concurrentVerifications } from '../adapters/secrets/bcrypt-secret-verifier.ts';
import { PacedAttempts } from '../adapters/secrets/paced-attempts.ts';
import { PlainSecretVerifier } from '../adapters/secrets/plain-secret-verifier.ts';
import {
  ASSERTION_QUEUE_LIMITS,
  VERIFICATION_QUEUE_LIMITS,
  VerificationQueue,
} from '../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../adapters/secrets/verified-secret-cache.ts';
import { availableCores } from '../adapters/system/host-limits.ts';
import { connectionsWithin } from '../adapters/system/open-files.ts';
import { RandomIdGenerator, SystemClock, SystemMonotonicClock } from '../adapters/system/system.ts';
import { AuthenticateBySecret } from '../application/authenticate-by-secret.ts';
import { AuthenticateClient } from '../application/authenticate-client.ts';
import { AuthorizeRequest, type ExpectedToken, OWN_CLIENT } from '../application/authorize-request.ts';
import { FindLocation } from '../application/example-resource/find-location.ts';
import { AuthenticateByIdentity } from '../application/federated-jwt/authenticate-by-identity.ts';
import { IssueToken } from '../application/issue-token.ts';
import { KeyRing } from '../application/keys/key-ring.ts';
import { PublishKeys } from '../application/keys/publish-keys.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { RequestLog } from '../application/ports/telemetry.ts';
import { AuthenticateByKey } from '../application/private-key-jwt/authenticate-by-key.ts';
import { UseAssertion } from '../application/private-key-jwt/use-assertion.ts';
import { VerifyAssertion } from '../application/verify-assertion.ts';
import type { AuthenticationMethod } from '../domain/authentication-method.ts';
import { countExpiring } from '../domain/client-details.ts';
import { TrustedIssuers } from '../domain/federated-jwt/trusted-issuers.ts';
import { KeySchedule } from '../domain/key-schedule.ts';
import { StoredSecret } from '../domain/stored-secret.ts';
import { TokenPolicy } from '../domain/token-policy.ts';
import { measureExpiring, measureProcess, measureTracing, serviceState } from './compose-metrics.ts';
import { openAudit } from './open-audit.ts';
import { openDependencies } from './open-dependencies.ts';
import { openTracing, tracedCounter, UNOBSERVED } from './open-tracing.ts';
import { measureOperatorParts, operatorRoutes, registerOperatorParts, requestCounter } from './operator-parts.ts';
import { PARTS, type ProcessRole } from './parts.ts';
import type { Configuration } from './settings/configuration.ts';
import { assertionAudiences, keyTimes, tokenPolicyOptions } from './settings/domain-options.ts';
import { MANAGEMENT_CONNECTIONS_MAX, openFilesPlan } from './settings/open-files-plan.ts';

/** How far the clocks of replicas may be apart. */
const REPLICA_LEEWAY_SECONDS = 1;

/** Probes come every second, so requests to the management port are not logged. Health is logged when it changes. */
const NO_LOG: RequestLog = { info: () => {}, error: () => {} };

/** The longest that one attempt to fetch a key set of a trusted issuer may take, in milliseconds. */
const KEY_SET_TIMEOUT_MS = 5_000;

/** Replaces parts, in a worker or in a test. */
export type Override = (container: DependencyContainer) => void;

/** The composition root: every part of the service, created once, when it is first needed. */
export async function buildContainer(
  configuration: Configuration,
  role: ProcessRole,
  override: Override = () => {},
): Promise<DependencyContainer> {
  const { settings, clients, keyFile, issuers, httpTimeouts: timeouts } = configuration;
  const container = root.createChildContainer();
  const get = <Part>(token: InjectionToken<Part>): Part => container.resolve(token);
  const part = <Part>(token: InjectionToken<Part>, create: () => Part) =>
    container.register(token, { useFactory: instanceCachingFactory(create) });

  const tracing = await openTracing(configuration, role, (change) => createStateLog(get(PARTS.log))(change));
  const observe = tracing?.ports ?? UNOBSERVED;
  const isOn = (...names: readonly AuthenticationMethod[]) =>
    names.some((name) => settings.CLIENT_AUTHENTICATION_METHODS.includes(name));

  part(PARTS.logDestination, () => openLogLines(get(PARTS.logBase)));
  container.registerInstance(PARTS.logBase, {});
  container.registerInstance(PARTS.stopRequested, new AbortController().signal);
  part(PARTS.log, () => {
    return createJsonLog(get(PARTS.logDestination), get(PARTS.logBase), tracing?.requests.logMembers);
  });
  part(PARTS.clock, () => new SystemClock());
  part(PARTS.monotonicClock, () => new SystemMonotonicClock());
  part(PARTS.ids, () => new RandomIdGenerator());
  part(PARTS.auditOutput, () => {
    const surroundings = {
      base: get(PARTS.logBase),
      clock: get(PARTS.clock),
      onChange: createStateLog(get(PARTS.log)),
    };
    return openAudit(settings, { log: get(PARTS.logDestination), ...surroundings });
  });
  part(PARTS.auditLog, () => new JsonAuditLog(get(PARTS.auditOutput).lines, get(PARTS.logBase)));

  // Clients and their secrets.
  if (settings.CLIENT_REPOSITORY === 'memory') {
    part(PARTS.clientRepository, () => new InMemoryClientRepository(get(PARTS.ids), get(PARTS.clock), clients));
    part(PARTS.clientResources, () => new InMemoryClientResources(clients));
    const details = clients.flatMap((client) => client.details ?? []);
    // All workers have the same registrations.
    if (role !== 'worker') part(PARTS.expiringCredentials, () => () => countExpiring(details, get(PARTS.clock).now()));
  }
  part(PARTS.verifiedSecrets, () => {
    const lifetimeSeconds = settings.CLIENT_SECRET_REMEMBERED_SECONDS;
    return new VerifiedSecretCache(get(PARTS.clock), { key: randomBytes(32), lifetimeSeconds });
  });
  part(PARTS.verificationQueue, () => {
    const concurrent = concurrentVerifications(settings.WORKERS, availableCores());
    return new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, concurrent });
  });
  part(PARTS.pacedAttempts, () => new PacedAttempts());
  part(PARTS.verificationSlots, () => {
    const queue = get(PARTS.verificationQueue);
    const failuresPerMinute = settings.CLIENT_FAILURES_PER_MINUTE;
    if (failuresPerMinute === 0) return queue;
    return new AttemptLimiter(queue, { failuresPerMinute, paced: get(PARTS.pacedAttempts) });
  });
  container.registerInstance(PARTS.onCostFound, (cost) => get(PARTS.log).warn({ event: 'secret_cost_found', cost }));
  part(PARTS.bcryptVerifier, () => {
    const { CLIENT_SECRET_COST: cost, CLIENT_SECRET_COST_MAX: costMax } = settings;
    const verifier = new BcryptSecretVerifier({ cost, costMax, onCostFound: get(PARTS.onCostFound) });
    for (const { clientSecret, details } of clients) {
      const encoded = [clientSecret, ...(details?.secrets ?? []).map((secret) => secret.encoded)];
      for (const text of encoded) verifier.includeCost(StoredSecret.parse(text).cost);
    }
    return verifier;
  });
  part(PARTS.secretVerifier, () => {
    const bcrypt = get(PARTS.bcryptVerifier);
    return settings.CLIENT_REPOSITORY === 'memory' ? new PlainSecretVerifier(bcrypt) : bcrypt;
  });

  // Keys and tokens.
  part(PARTS.keyFactory, () => createKeyFactory({ ids: get(PARTS.ids), file: keyFile }));
  if (settings.KEY_DIRECTORY === 'memory')
    part(PARTS.keyDirectory, () => new InMemoryKeyDirectory(get(PARTS.monotonicClock)));
  part(PARTS.keyRing, () => {
    const parts = {
      factory: get(PARTS.keyFactory),
      directory: get(PARTS.keyDirectory),
      clock: get(PARTS.monotonicClock),
    };
    return new KeyRing({ ...parts, schedule: new KeySchedule(keyTimes(settings)), auditLog: get(PARTS.auditLog) });
  });
  part(PARTS.keyProvider, () => get(PARTS.keyRing));

  // Use cases.
  part(PARTS.authenticateBySecret, () => {
    return new AuthenticateBySecret({
      clients: observe.clients(get(PARTS.clientRepository)),
      verifiedSecrets: get(PARTS.verifiedSecrets),
      slots: get(PARTS.loadLimit).withUncountedWaits(observe.slots(get(PARTS.verificationSlots))),
      secrets: observe.secrets(get(PARTS.secretVerifier)),
    });
  });
  if (settings.CLIENT_REPOSITORY === 'memory') {
    part(PARTS.clientKeys, () => new InMemoryClientKeys(get(PARTS.clientRepository), clients));
  }
  if (settings.KEY_DIRECTORY === 'memory') {
    part(PARTS.usedAssertionsStore, () => new InMemoryUsedAssertions(get(PARTS.monotonicClock)));
  }
  part(PARTS.usedAssertions, () => get(PARTS.usedAssertionsStore));
  part(PARTS.assertionVerifier, () => new NodeCryptoAssertionVerifier());
  part(PARTS.assertionQueue, () => new VerificationQueue(ASSERTION_QUEUE_LIMITS, 'assertion verification'));
  part(PARTS.verifyAssertion, () => {
    const slots = get(PARTS.loadLimit).withUncountedWaits(observe.slots(get(PARTS.assertionQueue)));
    return new VerifyAssertion(observe.assertions(get(PARTS.assertionVerifier)), slots);
  });
  part(PARTS.authenticateByKey, () => {
    return new AuthenticateByKey({
      clientKeys: observe.clientKeys(get(PARTS.clientKeys)),
      clients: observe.clients(get(PARTS.clientRepository)),
      verifyAssertion: get(PARTS.verifyAssertion),
      useAssertion: new UseAssertion(get(PARTS.usedAssertions)),
      clock: get(PARTS.clock),
      audiences: assertionAudiences(settings),
    });
  });
  if (settings.CLIENT_REPOSITORY === 'memory') {
    part(PARTS.federatedClients, () => new InMemoryFederatedClients(get(PARTS.clientRepository), clients));
  }
  part(PARTS.issuerKeys, () => new IssuerKeyCache());
  container.registerInstance(PARTS.onIssuerKeys, (sets) => get(PARTS.issuerKeys).replace(sets));
  part(PARTS.issuerKeySets, () => {
    const { CLIENT_ASSERTION_KEYS_REFRESH_SECONDS: refresh, CLIENT_ASSERTION_KEYS_STALE_SECONDS: stale } = settings;
    const times = { timeoutMs: KEY_SET_TIMEOUT_MS, refreshMs: refresh * 1_000, staleMs: stale * 1_000 };
    return new IssuerKeySets(issuers, {
      ...times,
      onChange: get(PARTS.onIssuerKeys),
      log: createStateLog(get(PARTS.log)),
    });
  });
  part(PARTS.authenticateByIdentity, () => {
    return new AuthenticateByIdentity({
      issuers: new TrustedIssuers(issuers),
      issuerKeys: get(PARTS.issuerKeys),
      verifyAssertion: get(PARTS.verifyAssertion),
      clients: observe.federatedClients(get(PARTS.federatedClients)),
      clock: get(PARTS.clock),
      maxAgeSeconds: settings.CLIENT_ASSERTION_MAX_AGE_SECONDS,
    });
  });
  part(PARTS.authenticateClient, () => {
    const bySecret = isOn('client_secret_post', 'client_secret_basic') ? get(PARTS.authenticateBySecret) : undefined;
    if (bySecret !== undefined && !isOn('private_key_jwt', 'federated_jwt')) return bySecret;
    const byKey = isOn('private_key_jwt') ? get(PARTS.authenticateByKey) : undefined;
    const byIdentity = isOn('federated_jwt') ? get(PARTS.authenticateByIdentity) : undefined;
    return new AuthenticateClient({ bySecret, byKey, byIdentity });
  });
  part(PARTS.issueToken, () => {
    const policy = new TokenPolicy(tokenPolicyOptions(settings));
    const authenticateClient = get(PARTS.authenticateClient);
    const signer = observe.signer(new Rs256TokenSigner(get(PARTS.keyProvider), policy.type));
    const surroundings = { clock: get(PARTS.clock), ids: get(PARTS.ids), auditLog: get(PARTS.auditLog) };
    const clientResources = observe.clientResources(get(PARTS.clientResources));
    return new IssueToken({ authenticateClient, clientResources, policy, signer, ...surroundings });
  });
  part(PARTS.authorizeRequest, () => {
    // The clock of another replica may be a moment ahead of ours.
    const leewaySeconds = settings.KEY_DIRECTORY === 'memory' ? 0 : REPLICA_LEEWAY_SECONDS;
    const expected: ExpectedToken = {
      issuer: settings.TOKEN_ISSUER,
      audience: settings.TOKEN_AUDIENCE ?? OWN_CLIENT,
      leewaySeconds,
    };
    const verifier = observe.tokens(new JoseTokenVerifier(get(PARTS.keyProvider)));
    return new AuthorizeRequest(verifier, get(PARTS.clock), expected);
  });
  part(PARTS.findLocation, () => new FindLocation(new InMemoryLocationCatalog(PLACES)));

  // The public port.
  part(PARTS.processMetrics, () => new ProcessMetrics('primary', get(PARTS.logDestination)));
  part(PARTS.loadLimit, () => new LoadLimit(LOAD_LIMITS));
  part(PARTS.rejectionDelay, () => new RejectionDelay());
  part(PARTS.routes, () => {
    const { TOKEN_ISSUER: issuer, BASE_URL: baseUrl, METADATA_SCOPES: scopes, LOCATION_FIELD_ORDER: order } = settings;
    return publicRoutes({
      issueToken: get(PARTS.issueToken),
      publishKeys: new PublishKeys(get(PARTS.keyProvider)),
      load: get(PARTS.loadLimit),
      methods: settings.CLIENT_AUTHENTICATION_METHODS,
      metadata: { issuer, baseUrl, scopes, compatibility: settings.METADATA_COMPATIBILITY },
      publicMetadata: settings.PUBLIC_METADATA,
      resources: settings.EXAMPLE_RESOURCE ? [locationRoute(get(PARTS.findLocation), order)] : [],
    });
  });
  const serverParts = () => ({
    authorizeRequest: get(PARTS.authorizeRequest),
    ids: get(PARTS.ids),
    rejectionDelay: get(PARTS.rejectionDelay),
    timeouts,
    onFault: createStateLog(get(PARTS.log)),
  });
  part(PARTS.httpServer, () => {
    const metrics = tracedCounter(requestCounter(container, settings), tracing);
    const parts = { log: get(PARTS.log), metrics, load: get(PARTS.loadLimit) };
    const { TRUSTED_PROXIES: trusted } = settings;
    const behindProxies = trusted && { clientAddress: clientAddressBehind(trusted) };
    const connectionsMax = Math.min(CONNECTIONS_MAX, connectionsWithin(openFilesPlan(settings)));
    const onRefusal = recordRefusedTokenRequests(get(PARTS.auditLog), get(PARTS.clock));
    const own = { routes: get(PARTS.routes), connectionsMax, onRefusal, around: tracing?.requests.around };
    const server = new HttpServer({ ...serverParts(), ...parts, ...behindProxies, ...own });
    get(PARTS.processMetrics).measureHttp(() => server.load);
    return server;
  });

  // The management port.
  part(PARTS.lifecycle, () => new Lifecycle());
  const pool = () => (role === 'primary' ? get(PARTS.workerPool) : undefined);
  const logChecks = () => [get(PARTS.logDestination), ...get(PARTS.auditOutput).checks];
  const healthChecks = (): readonly HealthCheck[] => [
    get(PARTS.lifecycle),
    ...(pool()?.healthChecks(logChecks()) ?? logChecks()),
    ...get(PARTS.dependencies),
  ];
  const verificationChecks = () => [
    get(PARTS.lifecycle),
    ...[pool() ?? []].flat(),
    get(PARTS.keyRotation).verification,
  ];
  part(PARTS.metricsScrape, () => {
    return new MetricsScrape({
      process: get(PARTS.processMetrics),
      service: () => serviceState(container, settings, healthChecks()),
      workers: async () => (await pool()?.metrics()) ?? new Map(),
    });
  });
  registerOperatorParts(container, settings, role, healthChecks);
  part(PARTS.managementServer, () => {
    const open = managementRoutes(healthChecks, verificationChecks, () => get(PARTS.metricsScrape).scrape());
    const routes = [...open, ...operatorRoutes(container, settings)];
    const parts = { log: NO_LOG, load: new LoadLimit(LOAD_LIMITS), connectionsMax: MANAGEMENT_CONNECTIONS_MAX };
    const answersHost = ownHosts([settings.MANAGEMENT_HOST, ...(settings.MANAGEMENT_ALLOWED_HOSTS ?? [])]);
    return new HttpServer({ ...serverParts(), ...parts, routes, answersHost });
  });

  override(container);
  measureProcess(container, settings);
  measureOperatorParts(container, settings, role);
  if (tracing !== undefined) measureTracing(container, tracing.requests.queue);
  const dependencies = await openDependencies(container, settings, role);
  container.registerInstance(PARTS.dependencies, tracing ? [tracing.requests, ...dependencies] : dependencies);
  measureExpiring(container);
  return container;
}
