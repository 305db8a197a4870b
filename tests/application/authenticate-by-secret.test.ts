import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { AttemptLimiter } from '../../adapters/secrets/attempt-limiter.ts';
import { VerificationQueue } from '../../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../../adapters/secrets/verified-secret-cache.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import type { ClientRepository } from '../../application/ports/client-repository.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { type NamedSecret, NO_DETAILS } from '../../domain/client-details.ts';
import { lock, NO_SECRET, secretIdOf } from '../../domain/stored-secret.ts';
import { slotRequest } from '../contracts/verification-slots.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { authenticateBySecretWith, watchedBcrypt } from '../support/authentication.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { REGISTERED_CLIENT as CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { until } from '../support/until.ts';

const FAILURES = 5;
const CREDENTIALS = { clientId: CLIENT.clientId, clientSecret: REGISTERED_SECRET };

/** The use case with the service's own adapters. Each look-up, slot and verification is recorded, in order. */
function world() {
  const calls: string[] = [];
  const clock = new FixedClock();
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), clock);
  const queue = new VerificationQueue();
  const attempts = new AttemptLimiter({ failuresPerMinute: FAILURES });
  const clients: ClientRepository = {
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
      acquire(request) {
        calls.push('acquire a slot');
        return queue.acquire(request);
      },
    },
    secrets: watchedBcrypt((stored) => calls.push(stored === undefined ? 'verify against nothing' : 'verify')),
  });
  repository.add(CLIENT);
  repository.add({ ...CLIENT, clientId: 'locked', clientSecret: '!locked' });
  repository.add({ ...CLIENT, clientId: 'plain', clientSecret: `{noop}${REGISTERED_SECRET}` });
  repository.add({ ...CLIENT, clientId: 'expensive', clientSecret: CLIENT.clientSecret.replace('$04$', '$31$') });
  repository.add({ ...CLIENT, clientId: 'scopeless', scope: '' });
  const verifications = () => calls.filter((call) => call.startsWith('verify')).length;
  return { calls, clock, queue, attempts, repository, verifications, authenticateClient };
}

describe('AuthenticateBySecret', () => {
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

  it('verifies the secret of an unknown client against nothing', async () => {
    const { authenticateClient, calls } = world();
    await authenticateClient.execute({ clientId: 'nobody', clientSecret: REGISTERED_SECRET }, A_CALLER);
    expect(calls).toEqual(['acquire a slot', 'look up the secret of nobody', 'verify against nothing']);
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

  it('shares no refusal between requests at once: each guess is an attempt', async () => {
    const { authenticateClient, verifications } = world();
    const wrong = { ...CREDENTIALS, clientSecret: 'wrong-secret' };
    const outcomes = await Promise.all(
      Array.from({ length: 2 * FAILURES }, () => authenticateClient.execute(wrong, A_CALLER)),
    );
    expect(verifications()).toBe(FAILURES);
    const reasons = outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.problem.reason));
    expect(reasons.filter((reason) => reason === 'secret_wrong')).toHaveLength(FAILURES);
    expect(reasons.filter((reason) => reason === 'attempts_exhausted')).toHaveLength(FAILURES);
  });

  it('goes on for the others when one of the callers that share an attempt disconnects, and ends when all have', async () => {
    const { authenticateClient, calls, queue, verifications } = world();
    const held = await queue.acquire(slotRequest());
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

  it('frees the slot and passes the fault on if the verification fails', async () => {
    const queue = new VerificationQueue();
    const repository = new InMemoryClientRepository(new RandomIdGenerator(), new FixedClock());
    const broken: SecretVerifier = { cost: 4, verify: () => Promise.reject(new TypeError('a bug')) };
    const authenticateClient = authenticateBySecretWith({ clients: repository, slots: queue, secrets: broken });
    await expect(authenticateClient.execute(CREDENTIALS, A_CALLER)).rejects.toThrow('a bug');
    expect(queue.load).toMatchObject({ running: 0, fifo: 0, overflow: 0 });
  });

  describe('a client with two secrets', () => {
    const [OLD, NEW] = ['old-id.the-old-secret', 'new-id.the-new-secret'] as const;
    const named = (secret: string, expiresAt?: number): NamedSecret => ({
      secret_id: secretIdOf(secret) ?? '',
      name: secret,
      encoded: bcrypt.hashSync(secret, 4),
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
