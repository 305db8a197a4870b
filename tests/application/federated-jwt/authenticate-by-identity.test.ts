import { beforeAll, describe, expect, test } from '@jest/globals';
import { NodeCryptoAssertionVerifier } from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { InMemoryFederatedClients } from '../../../adapters/memory/federated-jwt/in-memory-federated-clients.ts';
import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { ASSERTION_QUEUE_LIMITS, VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { AuthenticateByIdentity } from '../../../application/federated-jwt/authenticate-by-identity.ts';
import type { AssertionVerifier } from '../../../application/ports/assertion-verifier.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import {
  FEDERATED_CANDIDATES_MAX,
  type FederatedClients,
  type FederatedIdentity,
} from '../../../application/ports/federated-clients.ts';
import { VerifyAssertion } from '../../../application/verify-assertion.ts';
import { ClientAssertion } from '../../../domain/client-assertion.ts';
import { type FederatedSubject, NO_DETAILS } from '../../../domain/client-details.ts';
import { TrustedIssuers } from '../../../domain/federated-jwt/trusted-issuers.ts';
import { readPublicJwk } from '../../../domain/public-jwk.ts';
import { NO_SECRET } from '../../../domain/stored-secret.ts';
import { A_CALLER } from '../../support/a-caller.ts';
import { atOnce } from '../../support/at-once.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { WorkloadKey } from '../../support/workload-issuer.ts';

const ISSUER = 'https://issuer.test';
const AUDIENCE = 'https://auth.test';
const NOW = 1_800_000_000;
const KEY = new WorkloadKey('a');
const OTHER = new WorkloadKey('a');
const RULE: FederatedSubject = { issuer: ISSUER, subject: 'workload', claims: { '/repository_id': '1' } };

/** The parts of a use case, whose expensive calls are counted. */
class Counting implements FederatedClients, AssertionVerifier {
  readonly lookups: FederatedIdentity[] = [];
  verifications = 0;
  readonly #clients: FederatedClients;
  readonly #verifier = new NodeCryptoAssertionVerifier({ run: atOnce });

  constructor(clients: FederatedClients) {
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

describe('AuthenticateByIdentity', () => {
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), new FixedClock(NOW));
  const clients = new InMemoryFederatedClients(repository);
  const add = (
    clientId: string,
    subjects: readonly FederatedSubject[],
    clientSecret: string = NO_SECRET,
    scope = 'read',
  ) => {
    const client = { clientId, clientSecret, clientName: 'W', scope, details: { ...NO_DETAILS, subjects } };
    repository.add(client);
    clients.add(client);
  };
  beforeAll(() => {
    add('billing', [RULE]);
    add('locked', [{ ...RULE, subject: 'locked', claims: {} }], '!*');
    add('broken', [{ ...RULE, subject: 'broken', claims: {} }], NO_SECRET, '');
    for (const clientId of ['twin-1', 'twin-2']) add(clientId, [{ ...RULE, subject: 'twin', claims: { '/a': 'b' } }]);
    for (let n = 0; n <= FEDERATED_CANDIDATES_MAX; n += 1)
      add(`many-${n}`, [{ ...RULE, subject: 'many', claims: { '/n': `${n}` } }]);
  });

  function setUp({ current = true, keys = [KEY], issuer = ISSUER, found = clients as FederatedClients } = {}) {
    const counting = new Counting(found);
    const jwks = keys.flatMap((key) => {
      const read = readPublicJwk(key.jwk());
      return read.ok ? [read.value] : [];
    });
    const useCase = new AuthenticateByIdentity({
      issuers: new TrustedIssuers([{ issuer: ISSUER, audience: AUDIENCE, algorithms: ['RS256'], preset: 'none' }]),
      issuerKeys: {
        keysOf(asked) {
          if (asked === issuer) return { keys: jwks, current };
          throw new DependencyUnavailable(`key set of ${asked}`, new Error('no key set'));
        },
      },
      verifyAssertion: new VerifyAssertion(counting, new VerificationQueue(ASSERTION_QUEUE_LIMITS)),
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

  test.each<[string, object, object]>([
    ['another audience', { aud: 'https://other.test' }, {}],
    ['two audiences', { aud: [AUDIENCE, 'https://other.test'] }, {}],
    ['another issuer', { iss: 'https://evil.test' }, {}],
    ['an end in the past', { exp: NOW }, {}],
    ['a beginning that is more than 30 s ahead', { nbf: NOW + 31 }, {}],
    ['a time of issue that is more than 30 s ahead', { iat: NOW + 31 }, {}],
    ['an age of more than an hour', { iat: NOW - 3_601 }, {}],
    ['a long life without iat', { iat: undefined, exp: NOW + 3_601 }, {}],
    ['another algorithm', {}, { header: { alg: 'ES256' } }],
    ['another type', {}, { header: { typ: 'at+jwt' } }],
  ])('refuses %s without a verification and a look-up', async (_what, claims, options) => {
    const { execute, counting } = setUp();
    expect(await execute(claims, options)).toMatchObject({ code: 'invalid_client' });
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
    expect(await execute({ sub: 'twin' })).toEqual({ code: 'invalid_client', reason: 'assertion_claims_unmatched' });
  });

  test('requires the client id where two rules match', async () => {
    const { execute } = setUp();
    expect(await execute({ sub: 'twin', a: 'b' })).toEqual({ code: 'invalid_client', reason: 'client_ambiguous' });
    expect(await execute({ sub: 'twin', a: 'b' }, { clientId: 'twin-2' })).toBe('twin-2');
  });

  test('counts a rule for nothing whose conditions cannot be read', async () => {
    const found: FederatedClients = {
      async findBySubject(identity) {
        const candidates = await clients.findBySubject(identity);
        return candidates.map((candidate) => ({ ...candidate, claims: undefined }));
      },
    };
    const problem = { code: 'invalid_client', reason: 'federated_rule_refused', clientId: 'billing' };
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
    await expect(execute({}, { header: { kid: 'b' } })).rejects.toBeInstanceOf(DependencyUnavailable);
  });
});
