import { getEventListeners } from 'node:events';
import { afterEach, beforeAll, describe, expect, it, test } from '@jest/globals';
import bcrypt from 'bcrypt';
import { NodeCryptoAssertionVerifier } from '../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { InMemoryUsedAssertions } from '../../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import { AttemptLimiter } from '../../adapters/secrets/attempt-limiter.ts';
import {
  ASSERTION_QUEUE_LIMITS,
  VERIFICATION_QUEUE_LIMITS,
  VerificationQueue,
} from '../../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../../adapters/secrets/verified-secret-cache.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import {
  AuthenticateClient,
  type AuthenticationStrategies,
  type PresentedAssertion,
} from '../../application/authenticate-client.ts';
import {
  type BrokenRegistration,
  type ClientRow,
  candidatesOfRow,
  keysOfRow,
  logBroken,
  lookupOfRow,
  secretOfRow,
} from '../../application/client-lookup.ts';
import { AuthenticateByIdentity } from '../../application/federated-jwt/authenticate-by-identity.ts';
import type { AssertionVerdict, AssertionVerifier } from '../../application/ports/assertion-verifier.ts';
import type { Caller } from '../../application/ports/caller.ts';
import type { AssertionType } from '../../application/ports/client-credentials.ts';
import {
  type ClientRepository,
  FEDERATED_CANDIDATES_MAX,
  type FederatedIdentity,
} from '../../application/ports/client-repository.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { type AssertionUse, UsedAssertionsFull, type UseOutcome } from '../../application/ports/used-assertions.ts';
import { SlotsExhausted, type VerificationSlots } from '../../application/ports/verification-slots.ts';
import { AuthenticateByKey } from '../../application/private-key-jwt/authenticate-by-key.ts';
import { UseAssertion } from '../../application/private-key-jwt/use-assertion.ts';
import { SharedAttempts } from '../../application/shared-attempts.ts';
import { VerifyAssertion } from '../../application/verify-assertion.ts';
import { ClientAssertion } from '../../domain/client-assertion.ts';
import { type FederatedSubject, type NamedSecret, NO_DETAILS } from '../../domain/client-details.ts';
import { ClientRegistration, type NewClient } from '../../domain/client-registration.ts';
import { columnsOf } from '../../domain/details-document.ts';
import { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { readPublicJwk } from '../../domain/public-jwk.ts';
import type { RefusalReason } from '../../domain/refusal.ts';
import { type Result, success } from '../../domain/result.ts';
import { lock, NO_SECRET, secretIdOf } from '../../domain/stored-secret.ts';
import { heldSlot, settled } from '../contracts/verification-slots.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { compactJws, generateSigningKey, parsed, type Seal } from '../support/assertions.ts';
import { authenticateBySecretWith, watchedBcrypt } from '../support/authentication.ts';
import { pickDecoy } from '../support/decoys.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { REGISTERED_CLIENT as CLIENT, REGISTERED_CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { until } from '../support/until.ts';
import { WorkloadKey } from '../support/workload-issuer.ts';

/** Slots for everybody, for whom, and whether each client was registered when it got one. */
function askingSlots() {
  const registered: boolean[] = [];
  const names: string[] = [];
  const slots: VerificationSlots = {
    async run(request, verify) {
      names.push(request.clientId);
      registered.push(await request.isRegistered());
      return verify();
    },
  };
  return { registered, names, slots };
}

describe('AuthenticateClient', () => {
  const TRUSTED = 'https://trusted.test';

  function registrationIn(result: Result<ClientRegistration, unknown>): ClientRegistration {
    if (!result.ok) throw new Error('must be valid');
    return result.value;
  }

  const CLIENT = registrationIn(ClientRegistration.of({ ...REGISTERED_CLIENT, id: '1' }));

  /** Strategies that accept everything, and what they were called with. */
  function world(
    enabled: readonly (keyof AuthenticationStrategies)[] = ['client_secret_post', 'private_key_jwt', 'federated_jwt'],
  ) {
    const calls: unknown[][] = [];
    const strategy = (name: keyof AuthenticationStrategies) => ({
      async execute(...call: readonly unknown[]) {
        calls.push([name, ...call]);
        return success(CLIENT);
      },
      isResponsibleFor: ({ assertion }: { assertion: { claims: { iss?: string } } }) =>
        assertion.claims.iss === TRUSTED,
    });
    const parts = Object.fromEntries(enabled.map((name) => [name, strategy(name)]));
    return { calls, authenticate: new AuthenticateClient(parts) };
  }

  function assertionBy(iss: string, type: AssertionType = 'jwt-bearer') {
    const assertion = compactJws({ alg: 'ES256' }, { iss, sub: 'x', aud: 'y', exp: 1 }, () => new Uint8Array(64));
    return { assertion, type, clientId: 'client' };
  }

  it('has secrets verified', async () => {
    const { calls, authenticate } = world();
    const credentials = { clientId: 'client', clientSecret: 'secret' };
    expect(await authenticate.execute(credentials, A_CALLER)).toEqual(success(CLIENT));
    expect(calls).toEqual([['client_secret_post', credentials, A_CALLER]]);
  });

  it.each<[string, string, AssertionType, string]>([
    ['an issuer that is trusted', TRUSTED, 'jwt-bearer', 'federated_jwt'],
    ['an issuer that is trusted, as a JWT-SVID', TRUSTED, 'jwt-spiffe', 'federated_jwt'],
    ['anybody else, who can only be the client', 'client', 'jwt-bearer', 'private_key_jwt'],
  ])('has an assertion verified that was signed by %s', async (_who, iss, type, expected) => {
    const { calls, authenticate } = world();
    expect(await authenticate.execute(assertionBy(iss, type), A_CALLER)).toEqual(success(CLIENT));
    const presented = {
      type,
      clientId: 'client',
      assertion: expect.objectContaining({ claims: expect.any(Object) }),
    };
    expect(calls).toEqual([[expected, presented, A_CALLER]]);
  });

  const ISSUERS = 'an issuer that this server trusts';
  const NO_KEYS = `${ISSUERS}, unless its operator adds private_key_jwt to CLIENT_AUTHENTICATION_METHODS`;

  it.each<[string, ReturnType<typeof assertionBy>, (keyof AuthenticationStrategies)[], string]>([
    [
      'a JWT-SVID of no trusted issuer',
      assertionBy('client', 'jwt-spiffe'),
      ['private_key_jwt', 'federated_jwt'],
      ISSUERS,
    ],
    [
      'an assertion of a client where that method is off',
      assertionBy('client'),
      ['client_secret_post', 'federated_jwt'],
      NO_KEYS,
    ],
    [
      'an identity where that method is off',
      assertionBy(TRUSTED, 'jwt-spiffe'),
      ['client_secret_post', 'private_key_jwt'],
      ISSUERS,
    ],
  ])('refuses %s', async (_what, credentials, enabled, shown) => {
    const { calls, authenticate } = world(enabled);
    const problem = { code: 'invalid_client', reason: 'assertion_issuer_untrusted', shown };
    expect(await authenticate.execute(credentials, A_CALLER)).toEqual({ ok: false, problem });
    expect(calls).toEqual([]);
  });

  it('refuses a malformed assertion', async () => {
    const { calls, authenticate } = world();
    const credentials = { ...assertionBy('client'), assertion: 'a.b.c' };
    const problem = { code: 'invalid_client', reason: 'assertion_malformed', shown: expect.any(String) };
    expect(await authenticate.execute(credentials, A_CALLER)).toEqual({ ok: false, problem });
    expect(calls).toEqual([]);
  });

  it('fails for a secret where no method takes one', async () => {
    const { authenticate } = world(['private_key_jwt']);
    await expect(authenticate.execute({ clientId: 'client', clientSecret: 'secret' }, A_CALLER)).rejects.toThrow(
      'no method for secrets is switched on',
    );
  });
});

describe('the row of a client', () => {
  const NOW = 1_800_000_000;
  const { clientSecret } = REGISTERED_CLIENT;
  const ANOTHER = `$2b$04$${'a'.repeat(53)}`;
  const JWK = generateSigningKey('ES256').jwk;
  const RULE = { issuer: 'https://issuer.test', subject: 'workload', claims: { '/repository_id': '1' } };

  function rowOf(document: object = {}, more: Partial<ClientRow> = {}): ClientRow {
    const columns = { id: '7', clientId: 'billing', clientSecret, clientName: 'Billing', scope: 'read' };
    const { credentials, details } = columnsOf(document);
    return { ...columns, credentials: JSON.stringify(credentials), details: JSON.stringify(details), ...more };
  }

  /** Logs lines into a list. */
  function logged() {
    const lines: BrokenRegistration[] = [];
    return { lines, log: (line: BrokenRegistration) => void lines.push(line) };
  }

  it('is a registration, with what its details say about tokens', () => {
    const resources = ['https://api.example'];
    const details = { resources, claims: { tenant: 'acme' }, token_lifetime_seconds: 60 };
    const columns = { id: '7', clientId: 'billing', clientName: 'Billing' };
    expect(lookupOfRow(rowOf(details), NOW)).toMatchObject({
      kind: 'found',
      registration: { ...columns, resources, claims: { tenant: 'acme' }, tokenLifetimeSeconds: 60 },
    });
    expect(lookupOfRow(rowOf(), NOW)).toMatchObject({
      kind: 'found',
      registration: { ...columns, resources: [], claims: {}, tokenLifetimeSeconds: Infinity },
    });
  });

  it.each([
    ['the secret that an id selects', 'a', NOW, ANOTHER],
    ['no secret that has expired, but the one in the column', 'a', NOW + 1, clientSecret],
    ['the one in the column for another id', 'b', NOW, clientSecret],
    ['the one in the column without an id', undefined, NOW, clientSecret],
  ])('has %s', (_what, id, now, expected) => {
    const row = rowOf({ secrets: [{ secret_id: 'a', client_secret: ANOTHER, expires_at: NOW + 1 }] });
    const lookup = lookupOfRow(row, now, id);
    expect(lookup.kind === 'found' && lookup.registration.clientSecret.reveal()).toBe(expected);
    expect(secretOfRow(row, { clientId: 'billing', secretId: id }, now).secret.reveal()).toBe(expected);
  });

  it.each([
    ['credentials', 'credentials that are too long to read', { credentials: 'null' }, /^must be an object of moderate/],
    ['details', 'details that are too long to read', { details: 'null' }, /^must be an object of moderate size$/],
    ['scope', 'no scope', { scope: '' }, /^must be one or more scope tokens/],
    ['claims', 'claims that no token can have', { details: '{"claims":[]}' }, /^must be an object$/],
  ])('is broken, and logged by its %s, with %s', (field, _what, more, rule) => {
    const { lines, log } = logged();
    const lookup = lookupOfRow(rowOf({}, more), NOW);
    const problem = { field, rule: expect.stringMatching(rule) };
    expect(lookup).toEqual({ kind: 'broken', problem });
    logBroken(log, 'billing', lookup);
    logBroken(log, 'billing', lookupOfRow(rowOf(), NOW));
    logBroken(log, 'billing', { kind: 'unknown' });
    expect(lines).toEqual([{ event: 'registration_broken', client_id: 'billing', ...problem }]);
  });

  it('has its keys, but for those that break a rule, which are logged', () => {
    const { lines, log } = logged();
    const row = rowOf({
      jwks: {
        keys: [
          { ...JWK, d: 'private' },
          { ...JWK, expires_at: 5 },
        ],
      },
    });
    expect(keysOfRow(row, { clientId: 'billing', kid: undefined }, log)).toEqual({
      isRegistered: true,
      keys: [{ ...JWK, expires_at: 5 }],
    });
    const rule = expect.stringContaining('private or a symmetric key');
    expect(lines).toEqual([{ event: 'registration_broken', client_id: 'billing', field: 'jwks', rule }]);
  });

  it('of another client, in the place of one that is unknown, has its keys read, and is not logged', () => {
    const { lines, log } = logged();
    const row = rowOf({ jwks: { keys: [JWK, { kty: 'oct' }] } });
    const found = keysOfRow(row, { clientId: 'nobody', kid: undefined }, log);
    expect(found).toEqual({ isRegistered: false, keys: [JWK] });
    expect(lines).toEqual([]);
  });

  it('has the conditions of its rules for an identity, if they can be read', () => {
    const row = rowOf({
      federated_subjects: [RULE, { ...RULE, claims: 7 as never }, { ...RULE, subject: 'another' }],
    });
    const lookup = { kind: 'found', registration: expect.objectContaining({ clientId: 'billing' }) };
    expect(candidatesOfRow(row, RULE, NOW)).toEqual([
      { clientId: 'billing', lookup, claims: RULE.claims },
      { clientId: 'billing', lookup, claims: undefined },
    ]);
  });
});

describe('AuthenticateBySecret', () => {
  const CREDENTIALS = { clientId: CLIENT.clientId, clientSecret: REGISTERED_SECRET };
  const FAILURES = 5;

  /** The use case with the service's own adapters. Each look-up, slot and verification is recorded, in order. */
  function world() {
    const calls: string[] = [];
    const clock = new FixedClock();
    const repository = new InMemoryClientRepository({ ids: new RandomIdGenerator(), clock, pickDecoy });
    const queue = new VerificationQueue();
    const attempts = new AttemptLimiter({ failuresPerMinute: FAILURES });
    const clients: Pick<ClientRepository, 'findByClientId' | 'findSecret'> = {
      findByClientId(clientId, secretId) {
        calls.push(`look up ${clientId}`);
        return repository.findByClientId(clientId, secretId);
      },
      findSecret(clientId, secretId) {
        calls.push(`look up the secret of ${clientId}`);
        return repository.findSecret(clientId, secretId);
      },
    };
    const authenticateClient = authenticateBySecretWith({
      clients,
      verifiedSecrets: new VerifiedSecretCache(100),
      attempts,
      slots: {
        run(request, verify, isRight) {
          calls.push('acquire a slot');
          return queue.run(request, verify, isRight);
        },
      },
      secrets: watchedBcrypt((isRegistered) => calls.push(isRegistered ? 'verify' : 'verify against another one')),
    });
    repository.add(CLIENT);
    repository.add({ ...CLIENT, clientId: 'locked', clientSecret: '!locked' });
    repository.add({ ...CLIENT, clientId: 'plain', clientSecret: `{noop}${REGISTERED_SECRET}` });
    repository.add({ ...CLIENT, clientId: 'expensive', clientSecret: CLIENT.clientSecret.replace('$04$', '$31$') });
    repository.add({ ...CLIENT, clientId: 'scopeless', scope: '' });
    const verifications = () => calls.filter((call) => call.startsWith('verify')).length;
    return { calls, clock, queue, attempts, repository, verifications, authenticateClient };
  }

  it('returns the registration of a client whose secret is right', async () => {
    const { authenticateClient } = world();
    const client = await authenticateClient.execute(CREDENTIALS, A_CALLER);
    expect(client).toMatchObject({ ok: true, value: { clientId: CLIENT.clientId, clientName: CLIENT.clientName } });
  });

  it.each([
    ['an unknown client', 'nobody', REGISTERED_SECRET, 'client_unknown', undefined],
    ['a client in other case', CLIENT.clientId.toUpperCase(), REGISTERED_SECRET, 'client_unknown', undefined],
    ['a client id with a trailing space', `${CLIENT.clientId} `, REGISTERED_SECRET, 'client_unknown', undefined],
    ['a wrong secret', CLIENT.clientId, 'bad-secret', 'secret_wrong', CLIENT.clientId],
    ['a secret in other case', CLIENT.clientId, REGISTERED_SECRET.toUpperCase(), 'secret_wrong', CLIENT.clientId],
    ['the stored encoding as the secret', CLIENT.clientId, CLIENT.clientSecret, 'secret_wrong', CLIENT.clientId],
    ['an empty secret', CLIENT.clientId, '', 'presented_secret_unusable', CLIENT.clientId],
    ['a secret of 73 bytes', CLIENT.clientId, 'x'.repeat(73), 'presented_secret_unusable', CLIENT.clientId],
    [
      'the right secret followed by a NUL',
      CLIENT.clientId,
      `${REGISTERED_SECRET}\0`,
      'presented_secret_unusable',
      CLIENT.clientId,
    ],
    ['a locked client', 'locked', REGISTERED_SECRET, 'stored_secret_unusable', 'locked'],
    ['a plain secret where only BCrypt is accepted', 'plain', REGISTERED_SECRET, 'stored_secret_unusable', 'plain'],
    [
      'a stored encoding of a cost that is never verified',
      'expensive',
      REGISTERED_SECRET,
      'stored_secret_unusable',
      'expensive',
    ],
  ])(
    'refuses %s as invalid_client, at the cost of one look-up and one verification in a slot',
    async (_case, id, secret, reason, named) => {
      const { authenticateClient, calls } = world();
      const client = await authenticateClient.execute({ clientId: id, clientSecret: secret }, A_CALLER);
      const problem = { code: 'invalid_client', reason, ...(named !== undefined && { clientId: named }) };
      expect(client).toEqual({ ok: false, problem });
      expect(calls).toEqual(['acquire a slot', `look up the secret of ${id}`, expect.stringMatching(/^verify/)]);
    },
  );

  it('reads the registration only after its secret is verified, and refuses one that breaks an invariant', async () => {
    const { authenticateClient, calls } = world();
    const refused = await authenticateClient.execute({ clientId: 'scopeless', clientSecret: 'wrong' }, A_CALLER);
    expect(refused).toMatchObject({ problem: { code: 'invalid_client', reason: 'secret_wrong' } });
    calls.length = 0;
    const broken = await authenticateClient.execute(
      { clientId: 'scopeless', clientSecret: REGISTERED_SECRET },
      A_CALLER,
    );
    expect(broken).toMatchObject({ problem: { code: 'invalid_client', reason: 'registration_broken' } });
    expect(calls).toEqual(['acquire a slot', 'look up the secret of scopeless', 'verify', 'look up scopeless']);
  });

  it.each([
    ['removed', undefined, 'client_unknown'],
    ['given another secret', CLIENT.clientSecret.replace('1a0o', '1b0o'), 'secret_wrong'],
  ])('refuses a client that is %s while its secret is verified', async (_change, clientSecret, reason) => {
    const { repository, calls } = world();
    const authenticateClient = authenticateBySecretWith({
      clients: repository,
      secrets: watchedBcrypt(() => {
        repository.remove(CLIENT.clientId);
        if (clientSecret !== undefined) repository.add({ ...CLIENT, clientSecret });
      }),
    });
    const client = await authenticateClient.execute(CREDENTIALS, A_CALLER);
    expect(client).toMatchObject({ ok: false, problem: { code: 'invalid_client', reason } });
    expect(calls).toEqual([]);
  });

  it('verifies the secret of an unknown client against that of another one, which never matches', async () => {
    const { authenticateClient, calls } = world();
    await authenticateClient.execute({ clientId: 'nobody', clientSecret: REGISTERED_SECRET }, A_CALLER);
    expect(calls).toEqual(['acquire a slot', 'look up the secret of nobody', 'verify against another one']);
  });

  it('verifies a secret again after each refusal', async () => {
    const { authenticateClient, verifications } = world();
    for (let time = 1; time <= 3; time += 1) {
      for (const [clientId, clientSecret] of [
        [CLIENT.clientId, 'wrong-secret'],
        ['nobody', REGISTERED_SECRET],
        ['locked', REGISTERED_SECRET],
      ] as const) {
        expect((await authenticateClient.execute({ clientId, clientSecret }, A_CALLER)).ok).toBe(false);
      }
      expect(verifications()).toBe(3 * time);
    }
  });

  it('verifies a right secret once, however much time passes, until what is stored changes', async () => {
    const { authenticateClient, calls, clock, repository, verifications } = world();
    for (let time = 0; time < 5; time += 1) {
      expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
      clock.advance(1_000_000);
    }
    expect(verifications()).toBe(1);
    expect(calls.filter((call) => call === 'acquire a slot')).toHaveLength(1);
    repository.remove(CLIENT.clientId);
    repository.add({ ...CLIENT, clientSecret: bcrypt.hashSync(REGISTERED_SECRET, 4) });
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    expect(verifications()).toBe(2);
  });

  it('verifies a client that sends many requests at once a single time, and counts one attempt', async () => {
    const { authenticateClient, verifications } = world();
    const outcomes = await Promise.all(
      Array.from({ length: 20 * FAILURES }, () => authenticateClient.execute(CREDENTIALS, A_CALLER)),
    );
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(verifications()).toBe(1);
  });

  it('refuses requests at once after two verifications, however many there are, and no refusal is older than its request', async () => {
    const { authenticateClient, repository, verifications } = world();
    const wrong = { ...CREDENTIALS, clientSecret: 'wrong-secret' };
    const outcomes = await Promise.all(
      Array.from({ length: 4 * FAILURES }, () => authenticateClient.execute(wrong, A_CALLER)),
    );
    for (const outcome of outcomes) expect(outcome).toMatchObject({ problem: { reason: 'secret_wrong' } });
    expect(verifications()).toBe(2);
    const before = authenticateClient.execute({ ...wrong, clientId: 'soon' }, A_CALLER);
    await until(() => verifications() === 3, 'the first one is compared');
    repository.add({ ...CLIENT, clientId: 'soon', clientSecret: bcrypt.hashSync(wrong.clientSecret, 4) });
    const after = authenticateClient.execute({ ...wrong, clientId: 'soon' }, A_CALLER);
    expect([(await before).ok, (await after).ok]).toEqual([false, true]);
  });

  it('counts each guess as an attempt', async () => {
    const { authenticateClient, verifications } = world();
    const outcomes = await Promise.all(
      Array.from({ length: 2 * FAILURES }, (_, count) =>
        authenticateClient.execute({ ...CREDENTIALS, clientSecret: `wrong ${count}` }, A_CALLER),
      ),
    );
    expect(verifications()).toBe(FAILURES);
    const reasons = outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.problem.reason));
    expect(reasons.filter((reason) => reason === 'secret_wrong')).toHaveLength(FAILURES);
    expect(reasons.filter((reason) => reason === 'attempts_exhausted')).toHaveLength(FAILURES);
  });

  it('goes on for the others when one of the callers that share an attempt disconnects, and ends when all have', async () => {
    const { authenticateClient, calls, queue, verifications } = world();
    const held = await heldSlot(queue);
    const [first, second] = [new AbortController(), new AbortController()];
    const ask = ({ signal }: AbortController) =>
      authenticateClient.execute(CREDENTIALS, { ...A_CALLER, disconnected: signal });
    const [one, other] = [ask(first), ask(second)];
    first.abort();
    await expect(one).rejects.toThrow(DependencyUnavailable);
    await until(() => queue.load.fifo === 1, 'the shared attempt waits');
    second.abort();
    await expect(other).rejects.toThrow(DependencyUnavailable);
    expect(queue.load).toMatchObject({ fifo: 0, unanswered: 0 });
    const third = ask(new AbortController());
    held.release();
    expect((await third).ok).toBe(true);
    expect([verifications(), calls.filter((call) => call === 'acquire a slot')]).toEqual([
      1,
      Array(2).fill('acquire a slot'),
    ]);
  });

  it('refuses a right secret as soon as a burst of guesses has taken its place, and verifies it when it is sent again', async () => {
    const { repository } = world();
    const queue = new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, fifoRounds: 2 ** 4 });
    const authenticateClient = authenticateBySecretWith({
      clients: repository,
      secrets: watchedBcrypt(() => {}),
      slots: queue,
      attempts: new AttemptLimiter({ failuresPerMinute: 300 }),
    });
    const held = await heldSlot(queue);
    const guess = (count: number) => {
      const guessed = authenticateClient.execute({ ...CREDENTIALS, clientSecret: `guess ${count}` }, A_CALLER);
      // Refused before the test awaits it.
      guessed.catch(() => {});
      return guessed;
    };
    const guesses = [guess(0)];
    const first = authenticateClient.execute(CREDENTIALS, A_CALLER);
    await until(() => queue.load.overflow === 1, 'the right secret waits');
    for (let count = 1; count <= 4; count += 1) guesses.push(guess(count));
    await expect(first).rejects.toMatchObject({ name: 'SlotsExhausted', clientId: CREDENTIALS.clientId });
    const second = authenticateClient.execute(CREDENTIALS, A_CALLER);
    await until(() => queue.load.overflow === 4, 'it waits again');
    held.release();
    expect((await second).ok).toBe(true);
    queue.close();
    await Promise.allSettled(guesses);
  });

  it('refuses with slow_down if no attempts are left at this network, whatever the secret, and then looks nothing up', async () => {
    const { authenticateClient, attempts, calls } = world();
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    for (const clientId of [CLIENT.clientId, 'nobody']) {
      for (let count = 0; count < FAILURES; count += 1) attempts.count(clientId, A_CALLER.network);
    }
    calls.length = 0;
    for (const clientId of [CLIENT.clientId, 'nobody']) {
      const client = await authenticateClient.execute({ ...CREDENTIALS, clientId }, A_CALLER);
      expect(client).toEqual({ ok: false, problem: { code: 'slow_down', reason: 'attempts_exhausted' } });
    }
    expect(calls).toEqual([]);
    // At another network, the cached secret is as good as ever.
    expect((await authenticateClient.execute(CREDENTIALS, { ...A_CALLER, network: '198.51.100.1' })).ok).toBe(true);
  });

  it('counts an attempt that is refused, and none that a fault kept from being compared', async () => {
    const outage = new DependencyUnavailable('client repository', new Error('connection refused'));
    const attempts = new AttemptLimiter({ failuresPerMinute: FAILURES });
    const authenticateClient = authenticateBySecretWith({
      clients: { findByClientId: () => Promise.reject(outage), findSecret: () => Promise.reject(outage) },
      secrets: watchedBcrypt(() => {}),
      attempts,
    });
    for (let count = 0; count < 3 * FAILURES; count += 1) {
      await expect(authenticateClient.execute(CREDENTIALS, A_CALLER)).rejects.toBe(outage);
    }
    expect(attempts.pairs).toBe(0);
    const own = world();
    await own.authenticateClient.execute({ ...CREDENTIALS, clientSecret: 'wrong' }, A_CALLER);
    expect(own.attempts.pairs).toBe(1);
  });

  it('counts no attempt with the right secret', async () => {
    const { authenticateClient, attempts } = world();
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    expect(attempts.pairs).toBe(0);
  });

  it('compares no secret that an attempt from another network has verified while this one waited', async () => {
    const { calls, repository, verifications } = world();
    const waiting: (() => void)[] = [];
    const authenticateClient = authenticateBySecretWith({
      clients: repository,
      secrets: watchedBcrypt(() => calls.push('verify')),
      slots: {
        async run({ isRegistered }, verify) {
          await isRegistered();
          await new Promise<void>((resolve) => waiting.push(resolve));
          return verify();
        },
      },
    });
    const both = ['one network', 'another network'].map((network) =>
      authenticateClient.execute(CREDENTIALS, { ...A_CALLER, network }),
    );
    await until(() => waiting.length === 2, 'both wait');
    for (const [index, proceed] of waiting.entries()) {
      proceed();
      expect((await both[index])?.ok).toBe(true);
    }
    expect(verifications()).toBe(1);
  });

  it.each([
    ['a wrong secret', { clientSecret: 'bad-secret' }, { clientId: CLIENT.clientId }],
    ['an unknown client, whose id is not logged', { clientId: 'nobody' }, {}],
  ])('refuses with slow_down an attempt that is one too many: %s', async (_what, credentials, client) => {
    const attempts = { areLeft: () => true, count: () => ({ isBeyond: true, takeOff() {} }) };
    const clients = world().repository;
    const authenticateClient = authenticateBySecretWith({ clients, secrets: watchedBcrypt(() => {}), attempts });
    const problem = { code: 'slow_down', reason: 'attempts_exhausted', ...client };
    const refused = await authenticateClient.execute({ ...CREDENTIALS, ...credentials }, A_CALLER);
    expect(refused).toStrictEqual({ ok: false, problem });
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
  });

  it('tells its queue whether the client is registered, and that only a token is more work', async () => {
    const { registered, slots } = askingSlots();
    const work: boolean[] = [];
    const authenticateClient = authenticateBySecretWith({
      clients: world().repository,
      secrets: watchedBcrypt(() => {}),
      slots,
    });
    const caller: Caller = {
      ...A_CALLER,
      async waitUncounted(wait, isMoreWork) {
        const outcome = await wait();
        work.push(isMoreWork(outcome));
        return outcome;
      },
    };
    for (const clientId of [CLIENT.clientId, 'nobody']) {
      await authenticateClient.execute({ ...CREDENTIALS, clientId }, caller);
    }
    expect([registered, work]).toEqual([
      [true, false],
      [true, false],
    ]);
  });

  it('names a registered client in the log that finds no slot, and nobody else', async () => {
    const refuse = (fault: Error, isAsked = true): VerificationSlots => ({
      async run({ isRegistered }) {
        if (isAsked) await isRegistered();
        throw fault;
      },
    });
    const clientIn = async (slots: VerificationSlots, clientId: string = CLIENT.clientId) => {
      const parts = { clients: world().repository, secrets: watchedBcrypt(() => {}), slots };
      const fault = await authenticateBySecretWith(parts)
        .execute({ ...CREDENTIALS, clientId }, A_CALLER)
        .catch((thrown) => thrown);
      return fault.clientId;
    };
    const full = () => new SlotsExhausted('full');
    expect(await clientIn(refuse(full()))).toBe(CLIENT.clientId);
    expect(await clientIn(refuse(full()), 'nobody')).toBeUndefined();
    expect(await clientIn(refuse(full(), false))).toBeUndefined();
    expect(await clientIn(refuse(new TypeError('a bug')))).toBeUndefined();
  });

  it('refuses a secret that is stored in another form when its registration is read', async () => {
    const { repository } = world();
    const clients: Pick<ClientRepository, 'findByClientId' | 'findSecret'> = {
      findSecret: (clientId, secretId) => repository.findSecret(clientId, secretId),
      findByClientId: (clientId, secretId) => repository.findByClientId(`${clientId} as a text`, secretId),
    };
    const clientSecret = `{noop}${CLIENT.clientSecret}`;
    repository.add({ ...CLIENT, clientId: `${CLIENT.clientId} as a text`, clientSecret });
    const authenticateClient = authenticateBySecretWith({ clients, secrets: watchedBcrypt(() => {}) });
    expect(await authenticateClient.execute(CREDENTIALS, A_CALLER)).toMatchObject({
      problem: { reason: 'secret_wrong' },
    });
  });

  it('frees the slot, does not count the attempt, and passes the fault on if the verification fails', async () => {
    const queue = new VerificationQueue();
    const attempts = new AttemptLimiter({ failuresPerMinute: FAILURES });
    const repository = new InMemoryClientRepository({
      ids: new RandomIdGenerator(),
      clock: new FixedClock(),
      pickDecoy,
    });
    const broken: SecretVerifier = { cost: 4, verify: () => Promise.reject(new TypeError('a bug')) };
    const parts = { clients: repository, slots: queue, secrets: broken, attempts };
    const authenticateClient = authenticateBySecretWith(parts);
    await expect(authenticateClient.execute(CREDENTIALS, A_CALLER)).rejects.toThrow('a bug');
    expect(attempts.pairs).toBe(0);
    expect(queue.load).toMatchObject({ running: 0, fifo: 0, overflow: 0 });
  });

  describe('a client with two secrets', () => {
    const [OLD, NEW] = ['old-id.the-old-secret', 'new-id.the-new-secret'] as const;
    const named = (secret: string, expiresAt?: number): NamedSecret => ({
      secret_id: secretIdOf(secret) ?? '',
      name: secret,
      client_secret: bcrypt.hashSync(secret, 4),
      ...(expiresAt !== undefined && { expires_at: expiresAt }),
    });
    const withSecrets = (clientSecret: string, ...secrets: readonly NamedSecret[]) => {
      const own = world();
      own.repository.add({
        ...CLIENT,
        clientId: 'two',
        clientSecret,
        details: { ...NO_DETAILS, secrets },
      });
      const ask = (secret: string) =>
        own.authenticateClient.execute({ clientId: 'two', clientSecret: secret }, A_CALLER);
      return Object.assign(own, { ask });
    };

    it('is authenticated by both, each verified once against one hash, and then cached beside the other', async () => {
      const { ask, calls, verifications } = withSecrets(NO_SECRET, named(OLD), named(NEW));
      expect((await ask(OLD)).ok).toBe(true);
      expect(calls).toEqual(['acquire a slot', 'look up the secret of two', 'verify', 'look up two']);
      for (let time = 0; time < 3; time += 1) {
        expect([(await ask(NEW)).ok, (await ask(OLD)).ok]).toEqual([true, true]);
      }
      expect(verifications()).toBe(2);
    });

    it('is authenticated by the secret without an id too, also if that looks as if it had one', async () => {
      const { ask } = withSecrets(bcrypt.hashSync('looks-like.an-id', 4), named(NEW));
      expect([(await ask('looks-like.an-id')).ok, (await ask(NEW)).ok]).toEqual([true, true]);
    });

    it('is refused with a secret that has expired, from that second on, also if it is cached', async () => {
      const now = new FixedClock().now();
      const { ask, clock } = withSecrets(NO_SECRET, named(OLD, now + 10), named(NEW));
      clock.advance(9);
      expect((await ask(OLD)).ok).toBe(true);
      clock.advance(1);
      expect(await ask(OLD)).toMatchObject({ ok: false, problem: { code: 'invalid_client' } });
      expect((await ask(NEW)).ok).toBe(true);
    });

    it.each([
      ['an id that it does not have', 'no-such-id.the-old-secret'],
      ['the id of the other secret', 'new-id.the-old-secret'],
      ['the secret alone', 'the-old-secret'],
    ])('is refused with %s, at the cost of one look-up and one verification', async (_case, secret) => {
      const { ask, calls } = withSecrets(CLIENT.clientSecret, named(OLD), named(NEW));
      expect(await ask(secret)).toMatchObject({ ok: false, problem: { reason: 'secret_wrong', clientId: 'two' } });
      expect(calls).toEqual(['acquire a slot', 'look up the secret of two', 'verify']);
    });

    it('is refused with both while it is disabled', async () => {
      const { ask } = withSecrets(lock(NO_SECRET), named(OLD), named(NEW));
      for (const secret of [OLD, NEW]) {
        expect(await ask(secret)).toMatchObject({ ok: false, problem: { code: 'invalid_client' } });
      }
    });
  });

  it('refuses a client as soon as it is removed', async () => {
    const { authenticateClient, repository } = world();
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    repository.remove(CLIENT.clientId);
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(false);
  });

  it('passes on an outage of the repository unchanged, and verifies no secret', async () => {
    const outage = new DependencyUnavailable('client repository', new Error('connection refused'));
    let verifications = 0;
    const authenticateClient = authenticateBySecretWith({
      clients: { findByClientId: () => Promise.reject(outage), findSecret: () => Promise.reject(outage) },
      secrets: watchedBcrypt(() => {
        verifications += 1;
      }),
    });
    await expect(authenticateClient.execute(CREDENTIALS, A_CALLER)).rejects.toBe(outage);
    expect(verifications).toBe(0);
  });
});

describe('SharedAttempts', () => {
  it('begins another one for a caller that comes after all others have disconnected, and leaves no listener', async () => {
    const attempts = new SharedAttempts<string>();
    const begun: (PromiseWithResolvers<string> & Pick<Caller, 'disconnected'>)[] = [];
    const join = ({ signal }: AbortController) =>
      attempts.join('key', { ...A_CALLER, disconnected: signal }, ({ disconnected }) => {
        const attempt = Promise.withResolvers<string>();
        begun.push({ ...attempt, disconnected });
        return attempt.promise;
      });
    const [leaving, staying] = [new AbortController(), new AbortController()];
    const [left, gone] = [join(leaving), { cause: { message: 'the caller has disconnected' } }];
    leaving.abort();
    await expect(left).rejects.toMatchObject(gone);
    await expect(join(leaving)).rejects.toMatchObject(gone);
    const joined = join(staying);
    expect(begun.map(({ disconnected }) => disconnected.aborted)).toEqual([true, false]);
    begun[0]?.resolve('too late');
    begun[1]?.resolve('found');
    expect(await joined).toEqual({ outcome: 'found', isOwn: true });
    for (const { signal } of [leaving, staying]) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('VerifyAssertion', () => {
  const ASSERTION = parsed(compactJws({ alg: 'ES256' }, { sub: 'x', aud: 'y', exp: 1 }, () => Buffer.alloc(64)));
  const LIMITS = { ...ASSERTION_QUEUE_LIMITS, fifoRounds: 4, unanswered: 4, waitMs: 200 };

  const opened: VerificationQueue[] = [];
  afterEach(() => {
    for (const queue of opened.splice(0)) queue.close();
  });

  /**
   * A use case, its queue, and the verifications that have begun. Each costs two of the four that the FIFO queue holds.
   */
  function world({ cost }: { readonly cost: number | undefined } = { cost: 1 }) {
    const queue = new VerificationQueue(LIMITS, 'assertion verification');
    opened.push(queue);
    const running: PromiseWithResolvers<AssertionVerdict>[] = [];
    const verifier: AssertionVerifier = {
      cost: () => cost,
      verify() {
        const verification = Promise.withResolvers<AssertionVerdict>();
        running.push(verification);
        return verification.promise;
      },
    };
    const work: boolean[] = [];
    const useCase = new VerifyAssertion(verifier, queue);
    const verify = (clientId = 'client', sender: Caller = A_CALLER) => {
      const caller: Caller = {
        ...sender,
        async waitUncounted(wait, isMoreWork) {
          const verdict = await wait();
          work.push(isMoreWork(verdict));
          return verdict;
        },
      };
      const verdict = useCase.execute(ASSERTION, [], { clientId, caller, isRegistered: async () => true });
      verdict.catch(() => {});
      return verdict;
    };
    const step = async (verdict: AssertionVerdict) => {
      await settled();
      running.shift()?.resolve(verdict);
      await settled();
    };
    return { queue, running, verify, step, work };
  }

  it.each(['verified', 'key_unknown', 'signature_wrong'] as const)(
    'answers the verdict %s, and gives its slot back; only a token is more work',
    async (verdict) => {
      const { queue, verify, step, work } = world();
      const response = verify();
      await step(verdict);
      expect(await response).toBe(verdict);
      expect(work).toEqual([verdict === 'verified']);
      expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
    },
  );

  it('verifies one assertion at a time', async () => {
    const { running, verify, step } = world();
    for (const _ of [1, 2, 3]) void verify();
    await settled();
    expect(running).toHaveLength(1);
    await step('signature_wrong');
    expect(running).toHaveLength(1);
  });

  it('needs no slot to refuse a signature that no key can have made', async () => {
    const { running, verify } = world({ cost: undefined });
    for (const _ of [1, 2, 3]) void verify();
    await settled();
    expect(running).toHaveLength(3);
  });

  it('gives the slot back if a verification fails', async () => {
    const { queue, running, verify } = world();
    const failing = verify();
    await settled();
    running.shift()?.reject(new Error('broken'));
    await expect(failing).rejects.toThrow('broken');
    expect(queue.load.running).toBe(0);
  });

  it('answers beyond the FIFO queue only what is verified, and has no capacity for the rest', async () => {
    const { queue, verify, step } = world();
    const [first, second, third] = [verify('a'), verify('a'), verify('a')];
    await settled();
    const [forged, honest] = [verify('forged'), verify('honest')];
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 2, unanswered: 4 });
    await expect(verify('one too many')).rejects.toMatchObject({
      dependency: 'assertion verification',
      cause: { message: 'the verification queue is full' },
    });
    for (const verdict of ['key_unknown', 'signature_wrong', 'signature_wrong', 'signature_wrong', 'verified'] as const)
      await step(verdict);
    expect(await Promise.all([first, second, third])).not.toContain('verified');
    expect(await honest).toBe('verified');
    await expect(forged).rejects.toMatchObject({
      name: 'SlotsExhausted',
      dependency: 'assertion verification',
      cause: { message: 'no slot was free in time' },
    });
  });

  it('verifies nothing for a caller who has disconnected while waiting', async () => {
    const { queue, running, verify, step } = world();
    const leaving = new AbortController();
    void verify();
    const left = verify('left', { ...A_CALLER, disconnected: leaving.signal });
    await settled();
    leaving.abort();
    await expect(left).rejects.toThrow(DependencyUnavailable);
    await step('verified');
    expect(running).toHaveLength(0);
    expect(queue.load.unanswered).toBe(0);
  });
});

describe('AuthenticateByKey', () => {
  const ISSUER = 'https://issuer.test';
  const NOW = 1_800_000_000;
  const KEY = generateSigningKey('ES256');
  const OTHER_KEY = generateSigningKey('ES256');

  const registered = (clientId: string, more: Partial<NewClient> = {}): NewClient => ({
    ...REGISTERED_CLIENT,
    clientId,
    clientSecret: NO_SECRET,
    details: { ...NO_DETAILS, jwks: { keys: [{ ...KEY.jwk, kid: 'a' }] } },
    ...more,
  });

  /** The use case with the service's own adapters, and the calls of those that cost something. */
  function world(
    limits = { perClient: 10, total: 20 },
    slots: VerificationSlots = new VerificationQueue(ASSERTION_QUEUE_LIMITS),
    use: 'client' | 'grant' = 'client',
  ) {
    const calls: string[] = [];
    const clock = new FixedClock(NOW);
    const clients = [
      registered('client'),
      registered('disabled', { clientSecret: `!${NO_SECRET}` }),
      registered('plain-lock', { clientSecret: '{noop}!secret' }),
      registered('expired', { details: { ...NO_DETAILS, jwks: { keys: [{ ...KEY.jwk, expires_at: NOW }] } } }),
      registered('expiring', { details: { ...NO_DETAILS, jwks: { keys: [{ ...KEY.jwk, expires_at: NOW + 1 }] } } }),
      registered('scopeless', { scope: '' }),
      REGISTERED_CLIENT,
    ];
    const repository = new InMemoryClientRepository({ ids: new RandomIdGenerator(), clock, pickDecoy }, clients);
    const verifier = new NodeCryptoAssertionVerifier();
    const store = new InMemoryUsedAssertions(clock, limits);
    const authenticate = new AuthenticateByKey({
      use,
      maxLifetimeSeconds: 300,
      clients: {
        findKeys(clientId, kid) {
          calls.push('look up keys');
          return repository.findKeys(clientId, kid);
        },
        findByClientId(clientId) {
          calls.push('look up');
          return repository.findByClientId(clientId);
        },
      },
      verifyAssertion: new VerifyAssertion(
        {
          cost: (assertion) => verifier.cost(assertion),
          verify(assertion, jwks) {
            calls.push('verify');
            return verifier.verify(assertion, jwks);
          },
        },
        slots,
      ),
      useAssertion: new UseAssertion({
        use(uses) {
          calls.push('use');
          return store.use(uses);
        },
      }),
      clock,
      audiences: [ISSUER, 'https://second.test'],
    });
    const execute = (one: PresentedAssertion) => authenticate.execute(one, A_CALLER);
    return { calls, clock, store, repository, authenticate: { execute } };
  }

  let lastId = 0;
  function assertionOf(claims: object = {}, header: object = {}, seal: Seal = KEY.seal) {
    lastId += 1;
    const defaults = { iss: 'client', sub: 'client', aud: ISSUER, exp: NOW + 60, jti: `id-${lastId}` };
    return parsed(compactJws({ alg: 'ES256', ...header }, { ...defaults, ...claims }, seal));
  }

  const by = (sub: string) => ({ iss: sub, sub });
  const presented = (assertion: ReturnType<typeof assertionOf>, clientId?: string) =>
    ({ assertion, type: 'jwt-bearer', clientId }) as const;

  it.each<[string, object, object]>([
    ['the fewest claims', {}, {}],
    ['a key id', {}, { kid: 'a' }],
    ['the issuer with a trailing slash', { aud: `${ISSUER}/` }, {}],
    ['the issuer as an array of one', { aud: [ISSUER] }, {}],
    ['the issuer with a slash as an array of one', { aud: [`${ISSUER}/`] }, {}],
    ['the type JWT', {}, { typ: 'JWT' }],
    ['the type jwt', {}, { typ: 'jwt' }],
    ['the type application/jwt', {}, { typ: 'application/jwt' }],
    ['the type client-authentication+jwt', {}, { typ: 'client-authentication+jwt' }],
    ['the type application/Client-Authentication+JWT', {}, { typ: 'application/Client-Authentication+JWT' }],
    ['an end 300 s ahead, of a clock that is 30 s ahead', { exp: NOW + 330, iat: NOW + 30, nbf: NOW + 30 }, {}],
    ['an end of a clock that is almost 30 s behind', { exp: NOW - 29 }, {}],
    ['times with fractions', { exp: NOW + 60.5, iat: NOW - 0.25 }, {}],
    ['further claims and header fields', { scope: 'x', cnf: { jkt: 'y' } }, { jku: 'https://attacker.test', cty: 'x' }],
    ['a jti of 255 characters', { jti: 'j'.repeat(255) }, {}],
    ['a key that is valid for one more second', by('expiring'), {}],
    ['a client whose plain secret begins like a lock', by('plain-lock'), {}],
  ])('accepts %s', async (_what, claims, header) => {
    const { authenticate } = world();
    expect(await authenticate.execute(presented(assertionOf(claims, header)))).toMatchObject({ ok: true });
  });

  it('accepts the client id in the body beside the assertion, if it is the same', async () => {
    const { authenticate } = world();
    const client = await authenticate.execute(presented(assertionOf(), 'client'));
    expect(client).toMatchObject({ ok: true, value: { clientId: 'client' } });
  });

  it.each<[RefusalReason, string, object, object, string?]>([
    ['assertion_algorithm_refused', 'an algorithm that is not on the list', {}, { alg: 'HS256' }],
    ['assertion_type_refused', 'an access token by its type', {}, { typ: 'at+jwt' }],
    ['assertion_issuer_untrusted', 'another issuer', { iss: 'another' }, {}],
    ['assertion_issuer_untrusted', 'no issuer', { iss: undefined }, {}],
    ['assertion_malformed', 'no jti', { jti: undefined }, {}],
    ['assertion_malformed', 'a jti of 256 characters', { jti: 'j'.repeat(256) }, {}],
    ['assertion_malformed', 'a subject that is no client id', by('a\nb'), {}],
    ['assertion_client_contradictory', 'another client id in the body', {}, {}, 'Client'],
    ['assertion_audience_wrong', 'another audience', { aud: 'https://other.test' }, {}],
    ['assertion_audience_wrong', 'the token endpoint', { aud: `${ISSUER}/oauth2/token` }, {}],
    ['assertion_audience_wrong', 'two slashes', { aud: `${ISSUER}//` }, {}],
    ['assertion_audience_wrong', 'two audiences', { aud: [ISSUER, 'https://other.test'] }, {}],
    ['assertion_audience_wrong', 'the issuer twice', { aud: [ISSUER, ISSUER] }, {}],
    ['assertion_expired', 'an end 30 s ago', { exp: NOW - 30 }, {}],
    ['assertion_lifetime_too_long', 'an end 331 s ahead', { exp: NOW + 331 }, {}],
    ['assertion_not_yet_valid', 'a beginning 31 s ahead', { nbf: NOW + 31 }, {}],
    ['assertion_not_yet_valid', 'a time of issue 31 s ahead', { iat: NOW + 31 }, {}],
  ])('refuses as %s, without a look-up: %s', async (reason, _what, claims, header, clientId = undefined) => {
    const { authenticate, calls } = world();
    const response = await authenticate.execute(presented(assertionOf(claims, header), clientId));
    // The fix of some has a value of the settings or the fault; none has anything of a registration.
    const { shown: _shown, ...problem } = response.ok ? {} : response.problem;
    expect(problem).toEqual({ code: 'invalid_client', reason });
    expect(calls).toEqual([]);
  });

  it.each<[string, object, object]>([
    ['jti is missing', { jti: undefined }, {}],
    ['jti is longer than 255 characters', { jti: 'j'.repeat(256) }, {}],
    ['sub is no client_id, which has 1 to 255 characters', by('s'.repeat(256)), {}],
    ['RS256, PS256, ES256, ES384, EdDSA, Ed25519', {}, { alg: 'HS256' }],
    ['the client_id, as sub is, or for federated_jwt an issuer that this server trusts', { iss: 'another' }, {}],
    [`${ISSUER} or https://second.test`, { aud: 'https://other.test' }, {}],
    ['300', { exp: NOW + 331 }, {}],
  ])('tells everybody what an assertion should have, or what is wrong: %s', async (shown, claims, header) => {
    const response = await world().authenticate.execute(presented(assertionOf(claims, header)));
    expect(response).toMatchObject({ ok: false, problem: { shown } });
  });

  it.each<[RefusalReason, string, string | undefined, object, object?, Seal?]>([
    ['client_unknown', 'an unknown client', undefined, by('nobody')],
    ['client_unknown', 'a client id in other case', undefined, by('CLIENT')],
    ['assertion_key_unknown', 'a client of another method', 'good-client', by('good-client')],
    ['assertion_key_unknown', 'an unknown key id', 'client', {}, { kid: 'b' }],
    ['assertion_key_unknown', 'an expired key', 'expired', by('expired')],
    ['assertion_signature_wrong', 'the key of nobody', 'client', {}, {}, OTHER_KEY.seal],
    [
      'assertion_signature_wrong',
      'the key of nobody, for a disabled client',
      'disabled',
      by('disabled'),
      {},
      OTHER_KEY.seal,
    ],
  ])(
    'refuses as %s, after one look-up and one verification: %s',
    async (reason, _what, clientId, claims, header = {}, seal = KEY.seal) => {
      const { authenticate, calls, store } = world();
      const response = await authenticate.execute(presented(assertionOf(claims, header, seal)));
      const problem = { code: 'invalid_client', reason, ...(clientId && { clientId }) };
      expect(response).toEqual({ ok: false, problem });
      expect(calls).toEqual(['look up keys', 'verify']);
      expect(store.load.used).toBe(0);
    },
  );

  it.each<[RefusalReason, string]>([
    ['client_disabled', 'disabled'],
    ['registration_broken', 'scopeless'],
  ])('refuses as %s, with the right key, and records nothing', async (reason, clientId) => {
    const { authenticate, store } = world();
    const response = await authenticate.execute(presented(assertionOf(by(clientId))));
    expect(response).toEqual({ ok: false, problem: { code: 'invalid_client', reason, clientId } });
    expect(store.load.used).toBe(0);
  });

  it('refuses a client that is removed while its assertion is verified', async () => {
    const { authenticate, repository } = world(undefined, {
      async run(_request, verify) {
        const verdict = await verify();
        repository.remove('client');
        return verdict;
      },
    });
    const problem = { code: 'invalid_client', reason: 'client_unknown' };
    expect(await authenticate.execute(presented(assertionOf()))).toEqual({ ok: false, problem });
  });

  it('accepts an assertion without an id as a grant, again and again, and records nothing', async () => {
    const { authenticate, store } = world(undefined, undefined, 'grant');
    const assertion = assertionOf({ jti: undefined });
    for (let times = 0; times < 2; times += 1) {
      expect(await authenticate.execute(presented(assertion))).toMatchObject({ ok: true });
    }
    expect(store.load.used).toBe(0);
  });

  it('accepts an assertion once, until nobody accepts it any more, and another one of the same client meanwhile', async () => {
    const { authenticate, clock } = world();
    const assertion = assertionOf({ exp: NOW + 300 });
    const use = async () => {
      const response = await authenticate.execute(presented(assertion));
      return response.ok ? 'accepted' : response.problem.reason;
    };
    expect(await use()).toBe('accepted');
    expect(await use()).toBe('assertion_replayed');
    expect(await authenticate.execute(presented(assertionOf()))).toMatchObject({ ok: true });
    clock.advance(329);
    expect(await use()).toBe('assertion_replayed');
    clock.advance(1);
    expect(await use()).toBe('assertion_expired');
  });

  it('tells its queue whether the client is registered', async () => {
    const { registered, slots } = askingSlots();
    const { authenticate } = world(undefined, slots);
    for (const sub of ['client', 'nobody']) await authenticate.execute(presented(assertionOf(by(sub))));
    expect(registered).toEqual([true, false]);
  });

  it('accepts one of several equal assertions that arrive at the same time', async () => {
    const { authenticate } = world();
    const assertion = assertionOf();
    const answers = await Promise.all(Array.from({ length: 9 }, () => authenticate.execute(presented(assertion))));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
  });

  it('keeps a used assertion 60 s longer than it is accepted, for replicas with another clock', async () => {
    const { authenticate, clock, store } = world();
    await authenticate.execute(presented(assertionOf({ exp: NOW + 300 })));
    clock.advance(300 + 30 + 59);
    expect(store.load.used).toBe(1);
    clock.advance(11);
    expect(store.load.used).toBe(0);
  });

  it('has no token for a client whose share of used assertions is full, and has one for another client', async () => {
    const { authenticate } = world({ perClient: 2, total: 20 });
    for (const _ of [1, 2]) await authenticate.execute(presented(assertionOf()));
    await expect(authenticate.execute(presented(assertionOf()))).rejects.toThrow(UsedAssertionsFull);
    expect(await authenticate.execute(presented(assertionOf(by('expiring'))))).toMatchObject({ ok: true });
  });
});

describe('UseAssertion', () => {
  const useOf = (assertionId: string): AssertionUse => ({ clientId: 'client', assertionId, keptSeconds: 60 });

  /** A store whose batches wait for their responses. */
  function world() {
    const batches: {
      readonly ids: readonly string[];
      response(outcomes: readonly UseOutcome[]): void;
      fail(): void;
    }[] = [];
    const useAssertion = new UseAssertion({
      use(uses) {
        const { promise, resolve, reject } = Promise.withResolvers<readonly UseOutcome[]>();
        const fail = () => reject(new DependencyUnavailable('used assertions', new Error('out of reach')));
        batches.push({ ids: uses.map(({ assertionId }) => assertionId), response: resolve, fail });
        return promise;
      },
    });
    return { batches, useAssertion };
  }

  /** Lets everything run that waits for nothing but the event loop. */
  async function turn(): Promise<void> {
    for (let pass = 0; pass < 3; pass += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  it('sends a use alone at once, and what arrives meanwhile together', async () => {
    const { batches, useAssertion } = world();
    const first = useAssertion.execute(useOf('1'));
    await turn();
    const more = ['2', '3', '2'].map((id) => useAssertion.execute(useOf(id)));
    await turn();
    expect(batches.map(({ ids }) => ids)).toEqual([['1']]);
    batches[0]?.response(['first']);
    await turn();
    expect(batches.map(({ ids }) => ids)).toEqual([['1'], ['2', '3', '2']]);
    batches[1]?.response(['first', 'replayed', 'replayed']);
    expect(await Promise.all([first, ...more])).toEqual(['first', 'first', 'replayed', 'replayed']);
    await turn();
    expect(batches).toHaveLength(2);
  });

  it('sends at most 200 uses at once', async () => {
    const { batches, useAssertion } = world();
    const uses = Array.from({ length: 450 }, (_, id) => useAssertion.execute(useOf(String(id))));
    for (const size of [200, 200, 50]) {
      await turn();
      expect(batches.at(-1)?.ids).toHaveLength(size);
      batches.at(-1)?.response(Array<UseOutcome>(size).fill('first'));
    }
    expect(new Set(await Promise.all(uses))).toEqual(new Set(['first']));
  });

  it('throws for each use that finds no room, and only for those', async () => {
    const { batches, useAssertion } = world();
    const outcomes = ['1', '2', '3'].map((id) => useAssertion.execute(useOf(id)));
    await turn();
    batches[0]?.response(['first', 'client_full', 'full']);
    const [one, two, three] = await Promise.allSettled(outcomes);
    expect(one).toEqual({ status: 'fulfilled', value: 'first' });
    expect([two, three]).toEqual([
      { status: 'rejected', reason: new UsedAssertionsFull('client_full') },
      { status: 'rejected', reason: new UsedAssertionsFull('full') },
    ]);
    expect(new UsedAssertionsFull('full')).toBeInstanceOf(DependencyUnavailable);
    const causes = [two, three].map((outcome) => outcome?.status === 'rejected' && outcome.reason.cause.message);
    expect(causes).toEqual([expect.stringContaining('of this client'), expect.stringContaining('of all clients')]);
  });

  it('throws the fault of the store to each request of the batch, and works again afterwards', async () => {
    const { batches, useAssertion } = world();
    const outcomes = ['1', '2'].map((id) => useAssertion.execute(useOf(id)));
    await turn();
    batches[0]?.fail();
    for (const outcome of await Promise.allSettled(outcomes)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(DependencyUnavailable) });
    }
    const next = useAssertion.execute(useOf('3'));
    await turn();
    batches[1]?.response(['first']);
    expect(await next).toBe('first');
  });
});

describe('AuthenticateByIdentity', () => {
  const ISSUER = 'https://issuer.test';
  const AUDIENCE = 'https://auth.test';
  const NOW = 1_800_000_000;
  const KEY = new WorkloadKey('a');
  const OTHER = new WorkloadKey('a');
  const RULE: FederatedSubject = { issuer: ISSUER, subject: 'workload', claims: { '/repository_id': '1' } };

  type FindsBySubject = Pick<ClientRepository, 'findBySubject'>;

  /** The parts of a use case, whose expensive calls are counted. */
  class Counting implements FindsBySubject, AssertionVerifier {
    readonly lookups: FederatedIdentity[] = [];
    verifications = 0;
    readonly #clients: FindsBySubject;
    readonly #verifier = new NodeCryptoAssertionVerifier();

    constructor(clients: FindsBySubject) {
      this.#clients = clients;
    }

    findBySubject(identity: FederatedIdentity) {
      this.lookups.push(identity);
      return this.#clients.findBySubject(identity);
    }

    cost(...args: Parameters<AssertionVerifier['cost']>) {
      return this.#verifier.cost(...args);
    }

    verify(...args: Parameters<AssertionVerifier['verify']>) {
      this.verifications += 1;
      return this.#verifier.verify(...args);
    }
  }

  const repository = new InMemoryClientRepository({
    ids: new RandomIdGenerator(),
    clock: new FixedClock(NOW),
    pickDecoy,
  });
  const add = (
    clientId: string,
    subjects: readonly FederatedSubject[],
    clientSecret: string = NO_SECRET,
    scope = 'read',
  ) => {
    const client = {
      clientId,
      clientSecret,
      clientName: 'W',
      scope,
      details: { ...NO_DETAILS, federated_subjects: subjects },
    };
    repository.add(client);
  };
  beforeAll(() => {
    add('billing', [RULE]);
    add('locked', [{ ...RULE, subject: 'locked', claims: {} }], '!*');
    add('broken', [{ ...RULE, subject: 'broken', claims: {} }], NO_SECRET, '');
    add('two', [{ ...RULE, subject: 'two conditions', claims: { '/repository_id': '1', '/team': 'a' } }]);
    for (const clientId of ['twin-1', 'twin-2']) add(clientId, [{ ...RULE, subject: 'twin', claims: { '/a': 'b' } }]);
    for (let n = 0; n <= FEDERATED_CANDIDATES_MAX; n += 1)
      add(`many-${n}`, [{ ...RULE, subject: 'many', claims: { '/n': `${n}` } }]);
  });

  function setUp({
    current = true,
    keys = [KEY],
    issuer = ISSUER,
    found = repository as FindsBySubject,
    slots = new VerificationQueue(ASSERTION_QUEUE_LIMITS) as VerificationSlots,
  } = {}) {
    const counting = new Counting(found);
    const jwks = keys.flatMap((key) => {
      const read = readPublicJwk(key.jwk());
      return read.ok ? [read.value] : [];
    });
    const useCase = new AuthenticateByIdentity({
      issuers: new TrustedIssuers([
        { issuer: ISSUER, audience: AUDIENCE, algorithms: ['RS256', 'PS256'], preset: 'none' },
      ]),
      issuerKeys: {
        keysOf(asked) {
          if (asked === issuer) return { keys: jwks, current };
          throw new DependencyUnavailable(`key set of ${asked}`, new Error('no key set'));
        },
      },
      verifyAssertion: new VerifyAssertion(counting, slots),
      clients: counting,
      clock: new FixedClock(NOW),
      maxAgeSeconds: 3_600,
    });
    const execute = async (
      claims: object = {},
      { key = KEY, header = {}, clientId = undefined as string | undefined } = {},
    ) => {
      const text = key.mint({
        claims: { iss: ISSUER, sub: 'workload', aud: AUDIENCE, exp: NOW + 60, iat: NOW, repository_id: '1', ...claims },
        header: { ...header },
      });
      const parsed = ClientAssertion.parse(text);
      if (!parsed.ok) throw new Error(parsed.problem);
      const outcome = await useCase.execute({ assertion: parsed.value, type: 'jwt-bearer', clientId }, A_CALLER);
      return outcome.ok ? outcome.value.clientId : outcome.problem;
    };
    return { execute, counting, useCase };
  }

  test.each([
    [ISSUER, true],
    ['https://evil.test', false],
  ])('is responsible for an assertion of %s: %s', (iss, expected) => {
    const { useCase, counting } = setUp();
    const assertion = ClientAssertion.parse(KEY.mint({ claims: { iss, sub: 'workload', aud: AUDIENCE, exp: NOW } }));
    if (!assertion.ok) throw new Error(assertion.problem);
    expect(useCase.isResponsibleFor({ assertion: assertion.value, type: 'jwt-bearer' })).toBe(expected);
    expect([counting.verifications, counting.lookups]).toEqual([0, []]);
  });

  test('finds the client of the rule with one verification and one look-up', async () => {
    const { execute, counting } = setUp();
    expect(await execute()).toBe('billing');
    expect([counting.verifications, counting.lookups]).toEqual([
      1,
      [{ issuer: ISSUER, subject: 'workload', clientId: undefined }],
    ]);
  });

  test.each<[string, RefusalReason, string | undefined, object, object?]>([
    ['another audience', 'assertion_audience_wrong', AUDIENCE, { aud: 'https://other.test' }],
    ['two audiences', 'assertion_audience_wrong', AUDIENCE, { aud: [AUDIENCE, 'https://other.test'] }],
    ['another issuer', 'assertion_issuer_untrusted', undefined, { iss: 'https://evil.test' }],
    ['an end in the past', 'assertion_expired', undefined, { exp: NOW }],
    ['a beginning that is more than 30 s ahead', 'assertion_not_yet_valid', undefined, { nbf: NOW + 31 }],
    ['a time of issue that is more than 30 s ahead', 'assertion_not_yet_valid', undefined, { iat: NOW + 31 }],
    ['an age of more than an hour', 'assertion_too_old', '3600', { iat: NOW - 3_601 }],
    ['a long life without iat', 'assertion_lifetime_too_long', '3600', { iat: undefined, exp: NOW + 3_601 }],
    ['another algorithm', 'assertion_algorithm_refused', 'RS256, PS256', {}, { header: { alg: 'ES256' } }],
    ['another type', 'assertion_type_refused', undefined, {}, { header: { typ: 'at+jwt' } }],
  ])('refuses %s without a verification and a look-up', async (_what, reason, shown, claims, options = {}) => {
    const { execute, counting } = setUp();
    const expected = { code: 'invalid_client', reason, ...(shown !== undefined && { shown }) };
    expect(await execute(claims, options)).toStrictEqual(expected);
    expect([counting.verifications, counting.lookups]).toEqual([0, []]);
  });

  test.each(['JWT', 'jwt', 'JOSE'])('accepts the type %s', async (typ) => {
    expect(await setUp().execute({}, { header: { typ } })).toBe('billing');
  });

  test.each<[string, object]>([
    ['a beginning 30 s ahead, as clocks differ', { nbf: NOW + 30, iat: NOW + 30 }],
    ['an age of exactly an hour', { iat: NOW - 3_600 }],
    ['a life of exactly an hour without iat', { iat: undefined, exp: NOW + 3_600 }],
    ['a long life with a recent iat', { exp: NOW + 31_536_000 }],
    ['its last second', { exp: NOW + 1 }],
    ['fractions of seconds', { exp: NOW + 0.5, iat: NOW - 0.5 }],
  ])('accepts %s', async (_what, claims) => {
    expect(await setUp().execute(claims)).toBe('billing');
  });

  test.each<[string, string, object, { key?: WorkloadKey; header?: object; clientId?: string }]>([
    ['a wrong signature', 'assertion_signature_wrong', {}, { key: OTHER }],
    ['a wrong signature for a subject without a rule', 'assertion_signature_wrong', { sub: 'x' }, { key: OTHER }],
    ['an unknown key', 'assertion_key_unknown', {}, { header: { kid: 'b' } }],
    ['a subject without a rule', 'assertion_subject_unknown', { sub: 'x' }, {}],
    ['another client', 'assertion_subject_unknown', {}, { clientId: 'locked' }],
    ['conditions that are not met', 'assertion_claims_unmatched', { repository_id: 1 }, {}],
    ['a client that is disabled', 'client_disabled', { sub: 'locked' }, {}],
    ['a registration that is broken', 'registration_broken', { sub: 'broken' }, {}],
  ])('refuses %s after one verification and one look-up', async (_what, reason, claims, options) => {
    const { execute, counting } = setUp();
    expect(await execute(claims, options)).toMatchObject({ code: 'invalid_client', reason });
    expect([counting.verifications, counting.lookups.length]).toEqual([1, 1]);
  });

  test('looks an assertion that is not verified up under a subject that no rule has', async () => {
    const { execute, counting } = setUp();
    await execute({}, { key: OTHER });
    await execute({}, { header: { kid: 'b' } });
    expect(counting.lookups.map(({ subject }) => subject)).toEqual(['', '']);
  });

  test('names the client in the log only if the assertion is verified and one client has a rule', async () => {
    const { execute } = setUp();
    expect(await execute({ repository_id: '2' })).toMatchObject({ clientId: 'billing' });
    expect(await execute({ repository_id: '2' }, { key: OTHER })).not.toHaveProperty('clientId');
    expect(await execute({ sub: 'x' }, { clientId: 'billing' })).not.toHaveProperty('clientId');
    const detail = '/a is missing and must be "b"';
    expect(await execute({ sub: 'twin' })).toEqual({
      code: 'invalid_client',
      reason: 'assertion_claims_unmatched',
      detail,
    });
  });

  test('shows what a subject or claim is, up to 200 characters, and each condition that is not met', async () => {
    const { execute } = setUp();
    const detailOf = async (claims: object) => Object(await execute(claims)).detail;
    expect(await detailOf({ sub: 'x' })).toBe('sub is "x"');
    expect(await detailOf({ sub: 'x'.repeat(198) })).toBe(`sub is "${'x'.repeat(198)}"`);
    expect(await detailOf({ sub: 'x'.repeat(199) })).toBe(`sub is "${'x'.repeat(199)}…`);
    const detail = '/repository_id is 1 and must be "1"; /team is missing and must be "a"';
    expect(await detailOf({ sub: 'two conditions', repository_id: 1 })).toBe(detail);
  });

  test('requires the client id where two rules match', async () => {
    const { execute } = setUp();
    expect(await execute({ sub: 'twin', a: 'b' })).toEqual({ code: 'invalid_client', reason: 'client_ambiguous' });
    expect(await execute({ sub: 'twin', a: 'b' }, { clientId: 'twin-2' })).toBe('twin-2');
  });

  test('counts a rule for nothing whose conditions cannot be read', async () => {
    const found: FindsBySubject = {
      async findBySubject(identity) {
        const candidates = await repository.findBySubject(identity);
        return candidates.map((candidate) => ({ ...candidate, claims: undefined }));
      },
    };
    const detail = 'claims cannot be read';
    const problem = { code: 'invalid_client', reason: 'federated_rule_refused', clientId: 'billing', detail };
    expect(await setUp({ found }).execute()).toEqual(problem);
  });

  test('requires the client id where more clients have a rule than one look-up returns', async () => {
    const { execute } = setUp();
    expect(await execute({ sub: 'many', n: '3' })).toMatchObject({ reason: 'client_ambiguous' });
    expect(await execute({ sub: 'many', n: '3' }, { clientId: 'many-3' })).toBe('many-3');
  });

  test('is unavailable without the keys of the issuer, and costs nothing then', async () => {
    const { execute, counting } = setUp({ issuer: 'https://another.test' });
    await expect(execute()).rejects.toBeInstanceOf(DependencyUnavailable);
    expect([counting.verifications, counting.lookups]).toEqual([0, []]);
  });

  test('is unavailable for an unknown key while the keys may be old, and accepts a known one', async () => {
    const { execute } = setUp({ current: false });
    expect(await execute()).toBe('billing');
    expect(await execute({}, { key: OTHER })).toMatchObject({ reason: 'assertion_signature_wrong' });
    const unknown = execute({}, { header: { kid: 'b' } });
    await expect(unknown).rejects.toBeInstanceOf(DependencyUnavailable);
    await expect(unknown).rejects.toMatchObject({
      dependency: `key set of ${ISSUER}`,
      cause: { message: 'the key may be newer than the key set' },
    });
  });

  test('gives its queue the issuer and the subject, and whether a client has a rule', async () => {
    const { registered, names, slots } = askingSlots();
    const { execute } = setUp({ slots });
    for (const sub of ['workload', 'x']) await execute({ sub });
    expect(registered).toEqual([true, false]);
    expect(names).toEqual([`${ISSUER} workload`, `${ISSUER} x`]);
  });
});
