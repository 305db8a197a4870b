import { describe, expect, it } from '@jest/globals';
import { NodeCryptoAssertionVerifier } from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { inMemoryClientKeys } from '../../../adapters/memory/private-key-jwt/in-memory-client-keys.ts';
import { InMemoryUsedAssertions } from '../../../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import { ASSERTION_QUEUE_LIMITS, VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { PresentedAssertion } from '../../../application/authenticate-client.ts';
import { UsedAssertionsFull } from '../../../application/ports/used-assertions.ts';
import { AuthenticateByKey } from '../../../application/private-key-jwt/authenticate-by-key.ts';
import { UseAssertion } from '../../../application/private-key-jwt/use-assertion.ts';
import { VerifyAssertion } from '../../../application/verify-assertion.ts';
import { NO_DETAILS } from '../../../domain/client-details.ts';
import type { NewClient } from '../../../domain/client-registration.ts';
import type { RefusalReason } from '../../../domain/refusal.ts';
import { NO_SECRET } from '../../../domain/stored-secret.ts';
import { A_CALLER } from '../../support/a-caller.ts';
import { compactJws, generateSigningKey, parsed, type Seal } from '../../support/assertions.ts';
import { atOnce } from '../../support/at-once.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { REGISTERED_CLIENT } from '../../support/registered-client.ts';

const ISSUER = 'https://issuer.test';
const NOW = 1_800_000_000;
const KEY = generateSigningKey('ES256');
const OTHER_KEY = generateSigningKey('ES256');

const registered = (clientId: string, more: Partial<NewClient> = {}): NewClient => ({
  ...REGISTERED_CLIENT,
  clientId,
  clientSecret: NO_SECRET,
  details: { ...NO_DETAILS, keys: [{ jwk: { ...KEY.jwk, kid: 'a' } }] },
  ...more,
});

/** The use case with the service's own adapters, and the calls of those that cost something. */
function world(limits = { perClient: 10, total: 20 }) {
  const calls: string[] = [];
  const clock = new FixedClock(NOW);
  const clients = [
    registered('client'),
    registered('disabled', { clientSecret: `!${NO_SECRET}` }),
    registered('plain-lock', { clientSecret: '{noop}!secret' }),
    registered('expired', { details: { ...NO_DETAILS, keys: [{ jwk: KEY.jwk, expires_at: NOW }] } }),
    registered('expiring', { details: { ...NO_DETAILS, keys: [{ jwk: KEY.jwk, expires_at: NOW + 1 }] } }),
    registered('scopeless', { scope: '' }),
    REGISTERED_CLIENT,
  ];
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), clock, clients);
  const keys = inMemoryClientKeys(repository, clients);
  const verifier = new NodeCryptoAssertionVerifier({ run: atOnce });
  const store = new InMemoryUsedAssertions(clock, limits);
  const authenticate = new AuthenticateByKey({
    maxLifetimeSeconds: 300,
    clientKeys: {
      findKeys(clientId) {
        calls.push('look up keys');
        return keys.findKeys(clientId);
      },
    },
    clients: {
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
      new VerificationQueue(ASSERTION_QUEUE_LIMITS),
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

describe('AuthenticateByKey', () => {
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
    [
      'further claims and header members',
      { scope: 'x', cnf: { jkt: 'y' } },
      { jku: 'https://attacker.test', cty: 'x' },
    ],
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
    const answer = await authenticate.execute(presented(assertionOf(claims, header), clientId));
    // The cure of some has a value of the settings; none has anything of a registration.
    const { expected: _expected, ...problem } = answer.ok ? {} : answer.problem;
    expect(problem).toEqual({ code: 'invalid_client', reason });
    expect(calls).toEqual([]);
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
      const answer = await authenticate.execute(presented(assertionOf(claims, header, seal)));
      const problem = { code: 'invalid_client', reason, ...(clientId && { clientId }) };
      expect(answer).toEqual({ ok: false, problem });
      expect(calls).toEqual(['look up keys', 'verify']);
      expect(store.load.used).toBe(0);
    },
  );

  it.each<[RefusalReason, string]>([
    ['client_disabled', 'disabled'],
    ['registration_broken', 'scopeless'],
  ])('refuses as %s, with the right key, and records nothing', async (reason, clientId) => {
    const { authenticate, store } = world();
    const answer = await authenticate.execute(presented(assertionOf(by(clientId))));
    expect(answer).toEqual({ ok: false, problem: { code: 'invalid_client', reason, clientId } });
    expect(store.load.used).toBe(0);
  });

  it.each(['removed', 'replaced'])('refuses a client that is %s while its assertion is verified', async (change) => {
    const { authenticate, repository } = world();
    const answer = authenticate.execute(presented(assertionOf()));
    repository.remove('client');
    if (change === 'replaced') repository.add(registered('client'));
    expect(await answer).toEqual({ ok: false, problem: { code: 'invalid_client', reason: 'client_unknown' } });
  });

  it('accepts an assertion once, until nobody accepts it any more, and another one of the same client meanwhile', async () => {
    const { authenticate, clock } = world();
    const assertion = assertionOf({ exp: NOW + 300 });
    const use = async () => {
      const answer = await authenticate.execute(presented(assertion));
      return answer.ok ? 'accepted' : answer.problem.reason;
    };
    expect(await use()).toBe('accepted');
    expect(await use()).toBe('assertion_replayed');
    expect(await authenticate.execute(presented(assertionOf()))).toMatchObject({ ok: true });
    clock.advance(329);
    expect(await use()).toBe('assertion_replayed');
    clock.advance(1);
    expect(await use()).toBe('assertion_expired');
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
