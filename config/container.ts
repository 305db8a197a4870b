import 'reflect-metadata';
import { type DependencyContainer, type InjectionToken, instanceCachingFactory, container as root } from 'tsyringe';
import { LOAD_LIMITS, LoadLimit } from '../adapters/http/admission/load-limit.ts';
import { RejectionDelay } from '../adapters/http/admission/rejection-delay.ts';
import { Lifecycle } from '../adapters/http/server/running-server.ts';
import { createKeyFactory } from '../adapters/jwt/create-key-factory.ts';
import { NodeCryptoAssertionVerifier } from '../adapters/jwt/node-crypto-assertion-verifier.ts';
import { SigningThreads } from '../adapters/jwt/signing-threads.ts';
import { type AuditOutput, openAudit } from '../adapters/log/audit-output.ts';
import { createJsonLog, type JsonLog, openLogLines } from '../adapters/log/json-log.ts';
import type { Lines } from '../adapters/log/line-writer.ts';
import { createStateLog } from '../adapters/log/state-log.ts';
import { InMemoryKeyRing } from '../adapters/memory/in-memory-key-ring.ts';
import { InMemoryUsedAssertions } from '../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import { InMemoryRevocations } from '../adapters/memory/token-revocation/in-memory-revocations.ts';
import { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import { BcryptSecretVerifier } from '../adapters/secrets/bcrypt-secret-verifier.ts';
import {
  ASSERTION_QUEUE_LIMITS,
  VERIFICATION_QUEUE_LIMITS,
  VerificationQueue,
} from '../adapters/secrets/verification-queue.ts';
import { availableCores } from '../adapters/system/host-limits.ts';
import { RandomIdGenerator, SystemClock, SystemMonotonicClock } from '../adapters/system/system.ts';
import { traceFields } from '../adapters/tracing/active-span.ts';
import { AuthenticateClient, type AuthenticationStrategies } from '../application/authenticate-client.ts';
import { AuthorizeRequest, type ExpectedToken, OWN_CLIENT } from '../application/authorize-request.ts';
import { IssueToken } from '../application/issue-token.ts';
import { KeyRing } from '../application/keys/key-ring.ts';
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
import type { KeyRingStore } from '../application/ports/key-ring-store.ts';
import type { KeySealer } from '../application/ports/key-sealer.ts';
import type { Revocations } from '../application/ports/revocations.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import type { UsedAssertions } from '../application/ports/used-assertions.ts';
import { TokenSigner } from '../application/token-signer.ts';
import { VerifyAssertion } from '../application/verify-assertion.ts';
import { sendOnlySecrets } from '../domain/authentication-method.ts';
import { TokenPolicy } from '../domain/token-policy.ts';
import { linesTo } from './lines-to.ts';
import { boundsOfPool } from './pool-work.ts';
import type { Configuration } from './settings/configuration.ts';
import { keyPolicy, leewaySeconds, tokenPolicyOptions } from './settings/derived-values.ts';
import type { OpenClients } from './storages/storage.ts';

/** The container of one service, with its parts. */
export type Core = DependencyContainer;

export function createCore(): Core {
  return root.createChildContainer();
}

/**
 * Registers how a part is created: once, when it is first needed. What is registered already stays, such as a port that
 * a test has put into the container.
 */
export function part<Part>(core: Core, token: InjectionToken<Part>, create: () => Part): void {
  if (!core.isRegistered(token)) core.register(token, { useFactory: instanceCachingFactory(create) });
}

function token<Part>(name: string): InjectionToken<Part> {
  return Symbol(name);
}

/**
 * What is opened before it can be used, by the feature that awaits it: it gives these to the container. Each name has a
 * type, so `resolve` is typed.
 */
const OPENED = {
  storage: token<OpenClients>('OpenClients'),
  /** Undefined with keys in memory. */
  keyDirectory: token<{ readonly store: KeyRingStore; readonly sealer: KeySealer } | undefined>('KeyDirectory'),
  /** What all replicas know; undefined where each has its own. */
  sharedAssertions: token<UsedAssertions | undefined>('shared UsedAssertions'),
  sharedRevocations: token<Revocations | undefined>('shared Revocations'),
  /** By method, of clients and of grants that are an assertion. */
  strategies: token<Strategies>('AuthenticationStrategies'),
};

interface Strategies {
  readonly client: AuthenticationStrategies;
  readonly grant: Pick<AuthenticationStrategies, 'private_key_jwt' | 'federated_jwt'>;
}

/** The parts that have more than one user, or that a test replaces. `registerParts` has a row for each. */
const CREATED = {
  logDestination: token<Lines>('Lines of the log'),
  log: token<JsonLog>('JsonLog'),
  /** False where nothing may be changed: for the doctor. */
  mayCreate: token<boolean>('whether tables and keys may be created'),
  clock: token<Clock>('Clock'),
  monotonicClock: token<MonotonicClock>('MonotonicClock'),
  ids: token<IdGenerator>('IdGenerator'),
  auditOutput: token<AuditOutput>('AuditOutput'),
  auditLog: token<AuditLog>('AuditLog'),
  clientRepository: token<ClientRepository>('ClientRepository'),
  verificationQueue: token<VerificationQueue>('VerificationQueue'),
  bcrypt: token<BcryptSecretVerifier>('BcryptSecretVerifier'),
  secretVerifier: token<SecretVerifier>('SecretVerifier'),
  assertionQueue: token<VerificationQueue>('assertion VerificationQueue'),
  assertionVerifier: token<NodeCryptoAssertionVerifier>('NodeCryptoAssertionVerifier'),
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
  keyRing: token<KeyRing>('KeyRing'),
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

export const PARTS = { ...OPENED, ...CREATED };

/** Gives the container what was opened. What is registered already stays. */
export function give<Part>(core: Core, opened: InjectionToken<Part>, value: Part): void {
  part(core, opened, () => value);
}

/** Connections to the database that are left to requests whose secret is cached, while secrets are looked up. */
const CONNECTIONS_LEFT = 2;

/** How each part is created. */
export function registerParts(core: Core, { settings, keyFile }: Configuration, lines: Lines | undefined): void {
  const get = <Part>(wanted: InjectionToken<Part>): Part => core.resolve(wanted);
  const rows: { readonly [Name in keyof typeof CREATED]: () => PartOf<(typeof CREATED)[Name]> } = {
    logDestination: () => lines ?? openLogLines(),
    log: () => createJsonLog(get(PARTS.logDestination), traceFields),
    mayCreate: () => true,
    clock: () => new SystemClock(),
    monotonicClock: () => new SystemMonotonicClock(),
    ids: () => new RandomIdGenerator(),
    auditOutput: () => {
      const destination = { path: settings.AUDIT_FILE, isRequired: settings.AUDIT_REQUIRED };
      const onChange = createStateLog(get(PARTS.log));
      return openAudit(destination, { log: get(PARTS.logDestination), clock: get(PARTS.clock), onChange });
    },
    auditLog: () => get(PARTS.auditOutput).auditLog,
    clientRepository: () => get(PARTS.storage).clients,
    verificationQueue: () => {
      const lookUps = Math.max(1, settings.DATABASE_POOL_SIZE - CONNECTIONS_LEFT);
      return new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, concurrent: boundsOfPool().bcrypt, lookUps });
    },
    bcrypt: () => {
      const { CLIENT_SECRET_COST: cost, CLIENT_SECRET_COST_MAX: costMax } = settings;
      const { hasPlainSecrets } = get(PARTS.storage);
      const onCostFound = (found: number) => get(PARTS.log).warn({ event: 'secret_cost_found', cost: found });
      return new BcryptSecretVerifier({ cost, costMax, hasPlainSecrets, onCostFound });
    },
    secretVerifier: () => get(PARTS.bcrypt),
    assertionQueue: () => {
      const limits = { ...ASSERTION_QUEUE_LIMITS, concurrent: boundsOfPool().assertions };
      return new VerificationQueue(limits, 'assertion verification');
    },
    assertionVerifier: () => new NodeCryptoAssertionVerifier(),
    verifyAssertion: () => new VerifyAssertion(get(PARTS.assertionVerifier), get(PARTS.assertionQueue)),
    usedAssertions: () => get(PARTS.sharedAssertions) ?? new InMemoryUsedAssertions(get(PARTS.monotonicClock)),
    revocations: () => {
      if (!settings.TOKEN_REVOCATION) return undefined;
      return get(PARTS.sharedRevocations) ?? new InMemoryRevocations(get(PARTS.tokenClock));
    },
    authenticateClient: () => {
      const { CLIENT_AUTHENTICATION_METHODS: methods } = settings;
      const { client } = get(PARTS.strategies);
      const { client_secret_post: bySecret } = client;
      if (bySecret !== undefined && sendOnlySecrets(methods)) return bySecret;
      return new AuthenticateClient(Object.fromEntries(methods.map((method) => [method, client[method]])));
    },
    authenticateGrant: () =>
      settings.GRANT_TYPES.includes('jwt-bearer') ? new AuthenticateClient(get(PARTS.strategies).grant) : undefined,
    signingThreads: () => new SigningThreads(availableCores()),
    keyFactory: () => createKeyFactory({ ids: get(PARTS.ids), threads: get(PARTS.signingThreads), file: keyFile }),
    keyRing: () => {
      const clock = get(PARTS.monotonicClock);
      const own = new InMemoryKeyRing(get(PARTS.keyFactory), clock);
      const { store, sealer } = get(PARTS.keyDirectory) ?? { store: own, sealer: own };
      return new KeyRing({ store, sealer, policy: keyPolicy(settings), clock, auditLog: get(PARTS.auditLog) });
    },
    keyProvider: () => get(PARTS.keyRing),
    // Replicas whose clocks are seconds apart accept the tokens of each other.
    tokenClock: () => {
      const [ring, wall] = [get(PARTS.keyRing), get(PARTS.clock)];
      return { now: () => Math.floor(ring.sharedTime() ?? wall.now()) };
    },
    issueToken: () => {
      const policy = new TokenPolicy(tokenPolicyOptions(settings));
      return new IssueToken({
        authenticateClient: get(PARTS.authenticateClient),
        authenticateGrant: get(PARTS.authenticateGrant),
        policy,
        signer: new TokenSigner(get(PARTS.keyProvider), policy.type),
        clock: get(PARTS.tokenClock),
        isRevocable: settings.TOKEN_REVOCATION,
        ids: get(PARTS.ids),
        auditLog: get(PARTS.auditLog),
      });
    },
    authorizeRequest: () => {
      const expected: ExpectedToken = {
        issuer: settings.TOKEN_ISSUER,
        audience: settings.TOKEN_AUDIENCE ?? OWN_CLIENT,
        leewaySeconds: leewaySeconds(settings),
      };
      return new AuthorizeRequest(get(PARTS.keyProvider), get(PARTS.tokenClock), expected, get(PARTS.revocations));
    },
    processMetrics: () => new ProcessMetrics(get(PARTS.logDestination)),
    loadLimit: () => new LoadLimit(LOAD_LIMITS),
    rejectionDelay: () => new RejectionDelay(),
    lifecycle: () => new Lifecycle(),
  };
  for (const name of Object.keys(rows) as (keyof typeof rows)[]) {
    part<unknown>(core, CREATED[name], rows[name]);
  }
}

type PartOf<Token> = Token extends InjectionToken<infer Part> ? Part : never;

/**
 * The container of a program that opens what a service opens, to read: nothing is recorded, and no file, table or key
 * created.
 */
export function containerToRead(configuration: Configuration, writeLog: (line: string) => void = () => {}): Core {
  const core = createCore();
  const lines = linesTo(writeLog);
  const auditLog = { record: async () => {} };
  core.registerInstance(PARTS.auditOutput, { auditLog, checks: [], measured: lines, close: async () => {} });
  core.registerInstance(PARTS.mayCreate, false);
  registerParts(core, configuration, lines);
  return core;
}
