import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { VerificationQueue } from '../../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../../adapters/secrets/verified-secret-cache.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import type { ClientRepository } from '../../application/ports/client-repository.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerifier } from '../../application/ports/secret-verifier.ts';
import type { SlotRequest, VerificationSlots } from '../../application/ports/verification-slots.ts';
import { type NamedSecret, NO_DETAILS } from '../../domain/client-details.ts';
import { lock, NO_SECRET, secretIdOf } from '../../domain/stored-secret.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { authenticateBySecretWith, watchedBcrypt } from '../support/authentication.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { REGISTERED_CLIENT as CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { until } from '../support/until.ts';

const CREDENTIALS = { clientId: CLIENT.clientId, clientSecret: REGISTERED_SECRET };
const LIFETIME_SECONDS = 300;

/** The use case with the service's own adapters. Each look-up, slot and verification is recorded, in order. */
function world() {
  const calls: string[] = [];
  const clock = new FixedClock();
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), clock);
  const queue = new VerificationQueue();
  const requests: SlotRequest[] = [];
  let slots: VerificationSlots = queue;
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
    verifiedSecrets: new VerifiedSecretCache(clock, { lifetimeSeconds: LIFETIME_SECONDS }),
    slots: {
      hasAttemptsLeft: (clientId, address) => slots.hasAttemptsLeft(clientId, address),
      acquire(request) {
        calls.push('acquire a slot');
        requests.push(request);
        return slots.acquire(request);
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
  const replaceSlots = (replacement: VerificationSlots) => {
    slots = replacement;
  };
  return { calls, clock, queue, repository, requests, replaceSlots, verifications, authenticateClient };
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

  it('verifies a right secret once in its lifetime in the cache', async () => {
    const { authenticateClient, clock, requests, verifications } = world();
    for (let time = 0; time < 5; time += 1) await authenticateClient.execute(CREDENTIALS, A_CALLER);
    expect(verifications()).toBe(1);
    expect(requests).toHaveLength(1);
    clock.advance(LIFETIME_SECONDS);
    await authenticateClient.execute(CREDENTIALS, A_CALLER);
    expect(verifications()).toBe(2);
  });

  it('verifies a client that sends many requests at once a single time', async () => {
    const { authenticateClient, verifications } = world();
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, () => authenticateClient.execute(CREDENTIALS, A_CALLER)),
    );
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(verifications()).toBe(1);
  });

  it('renews an expiring cache entry once, in the background, while the client is served from the cache', async () => {
    const { authenticateClient, clock, queue, requests, verifications } = world();
    await authenticateClient.execute(CREDENTIALS, A_CALLER);
    clock.advance(LIFETIME_SECONDS * 0.8);
    for (let time = 0; time < 3; time += 1) {
      expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    }
    await until(() => verifications() === 2, 'the renewal has begun');
    await until(() => queue.load.running === 0, 'the renewal has ended');
    expect(requests.map(({ purpose }) => purpose)).toEqual(['attempt', 'renewal']);
    clock.advance(LIFETIME_SECONDS * 0.5);
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    expect(verifications()).toBe(2);
    clock.advance(LIFETIME_SECONDS * 0.3);
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    await until(() => verifications() === 3, 'the next renewal has begun');
  });

  it('serves from the cache if no slot is free for the renewal, until the lifetime is over', async () => {
    const { authenticateClient, clock, replaceSlots } = world();
    await authenticateClient.execute(CREDENTIALS, A_CALLER);
    const outage = new DependencyUnavailable('secret verification', new Error('no slot was free in time'));
    replaceSlots({ hasAttemptsLeft: () => true, acquire: () => Promise.reject(outage) });
    clock.advance(LIFETIME_SECONDS - 1);
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    clock.advance(1);
    await expect(authenticateClient.execute(CREDENTIALS, A_CALLER)).rejects.toBe(outage);
  });

  it.each([
    [CLIENT.clientId, true],
    ['nobody', false],
  ])(
    'tells the slots that ask whether %s is registered, with the one look-up of the attempt',
    async (clientId, expected) => {
      const { authenticateClient, calls, queue, replaceSlots } = world();
      const answers: boolean[] = [];
      replaceSlots({
        hasAttemptsLeft: () => true,
        async acquire(request) {
          answers.push(await request.isRegistered());
          return queue.acquire(request);
        },
      });
      await authenticateClient.execute({ ...CREDENTIALS, clientId, clientSecret: 'wrong-secret' }, A_CALLER);
      expect(answers).toEqual([expected]);
      expect(calls.filter((call) => call.startsWith('look up'))).toHaveLength(1);
    },
  );

  it('refuses with slow_down if the attempts are exhausted, and then looks nothing up', async () => {
    const { authenticateClient, calls, replaceSlots } = world();
    replaceSlots({ hasAttemptsLeft: () => false, acquire: async () => 'attempts_exhausted' });
    for (const clientId of [CLIENT.clientId, 'nobody']) {
      const client = await authenticateClient.execute({ ...CREDENTIALS, clientId }, A_CALLER);
      expect(client).toEqual({ ok: false, problem: { code: 'slow_down', reason: 'attempts_exhausted' } });
    }
    expect(calls).toEqual(['acquire a slot', 'acquire a slot']);
  });

  it('does not answer from the cache without a slot if the caller has no attempts left', async () => {
    const { authenticateClient, calls, queue, replaceSlots, verifications } = world();
    await authenticateClient.execute(CREDENTIALS, A_CALLER);
    replaceSlots({ hasAttemptsLeft: () => false, acquire: (request) => queue.acquire(request) });
    calls.length = 0;
    expect((await authenticateClient.execute(CREDENTIALS, A_CALLER)).ok).toBe(true);
    expect(calls).toEqual(['acquire a slot', `look up the secret of ${CLIENT.clientId}`, `look up ${CLIENT.clientId}`]);
    expect(verifications()).toBe(0);
  });

  it('names the client of an attempt that was verified beyond the limit', async () => {
    const { authenticateClient, replaceSlots } = world();
    replaceSlots({
      hasAttemptsLeft: () => false,
      acquire: async () => ({ refusals: 'slow_down', settle: async () => 'attempts_exhausted', release: () => {} }),
    });
    const exhausted = { code: 'slow_down', reason: 'attempts_exhausted' };
    const wrong = { ...CREDENTIALS, clientSecret: 'wrong-secret' };
    expect(await authenticateClient.execute(wrong, A_CALLER)).toEqual({
      ok: false,
      problem: { ...exhausted, clientId: CLIENT.clientId },
    });
    expect(await authenticateClient.execute({ ...wrong, clientId: 'nobody' }, A_CALLER)).toEqual({
      ok: false,
      problem: exhausted,
    });
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
      return { ...own, ask };
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
