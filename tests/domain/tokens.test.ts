import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type AccessTokenClaims, isAccessTokenClaims, isFor, scopesOf } from '../../domain/access-token-claims.ts';
import { methodsFor, sendOnlySecrets } from '../../domain/authentication-method.ts';
import {
  ClientRegistration,
  type ClientRegistrationFields,
  describeProblem,
} from '../../domain/client-registration.ts';
import { CLOCK_OFFSET_SECONDS_MAX, clockWindow } from '../../domain/clock-offset.ts';
import { PLACES } from '../../domain/example-resource/location.ts';
import { grantNamed, ruleOfGrants } from '../../domain/grant-type.ts';
import { type RefusalReason, refused, refusedGrant } from '../../domain/refusal.ts';
import { Scope } from '../../domain/scope.ts';
import { defectOf, isActive, isRevoked, mayKnow } from '../../domain/token-activity.ts';
import { KEY_TYPES, readTokenKey, type TokenAlgorithm } from '../../domain/token-key.ts';
import { TokenPolicy } from '../../domain/token-policy.ts';
import { REGISTERED, SCOPE_ROWS } from '../support/scopes-of-one-api.ts';

describe('claims', () => {
  const CLAIMS: AccessTokenClaims = { iss: 'i', sub: 's', aud: 'a', iat: 100, nbf: 100, exp: 101, jti: 'j' };

  describe('isAccessTokenClaims', () => {
    it.each([
      ['the claims of a token', {}],
      ['a time at the epoch', { iat: 0, nbf: 0 }],
      ['the last second that a number can count', { exp: Number.MAX_SAFE_INTEGER }],
      ['two audiences', { aud: ['a', 'b'] }],
      ['a client id', { client_id: 'c' }],
      ['scopes as one text', { scope: 'read write' }],
      ['scopes as an array', { scope: ['read', 'write'] }],
      ['an empty array of scopes', { scope: [] }],
      ['a claim that nobody reads', { other: 1 }],
    ])('accepts %s', (_name, more) => {
      expect(isAccessTokenClaims({ ...CLAIMS, ...more })).toBe(true);
    });

    it.each([undefined, null, 1, 'text', true, () => CLAIMS])('refuses %p, which is not an object', (payload) => {
      expect(isAccessTokenClaims(payload)).toBe(false);
    });

    it.each(['iss', 'sub', 'aud', 'jti'] as const)('requires %s as a text that is not empty', (name) => {
      for (const value of [undefined, null, '', 1, ['x'], { toString: () => 'x' }]) {
        expect(isAccessTokenClaims({ ...CLAIMS, [name]: value })).toBe(false);
      }
    });

    it.each(['iat', 'nbf', 'exp'] as const)('requires %s as a whole second since the epoch', (name) => {
      for (const value of [undefined, null, '100', 100.5, -1, Number.NaN, Infinity, 2 ** 53, [100]]) {
        expect(isAccessTokenClaims({ ...CLAIMS, [name]: value })).toBe(false);
      }
    });

    it('requires that the token was valid for a second', () => {
      expect(isAccessTokenClaims({ ...CLAIMS, nbf: 100, exp: 100 })).toBe(false);
      expect(isAccessTokenClaims({ ...CLAIMS, nbf: 101, exp: 100 })).toBe(false);
    });

    it.each([
      ['an empty array of audiences', { aud: [] }],
      ['the same audience twice', { aud: ['a', 'a'] }],
      ['an empty audience in an array', { aud: ['a', ''] }],
      ['an audience in an array that is not a text', { aud: ['a', 1] }],
      ['an audience in an array in an array', { aud: ['a', ['b']] }],
      ['an empty client id', { client_id: '' }],
      ['a client id that is not a text', { client_id: 1 }],
      ['an empty scope', { scope: '' }],
      ['a scope that is not a text', { scope: 1 }],
      ['a scope that is an object', { scope: { 0: 'read' } }],
      ['an empty scope in an array', { scope: ['read', ''] }],
      ['a scope in an array that is not a text', { scope: ['read', 1] }],
    ])('refuses %s', (_name, more) => {
      expect(isAccessTokenClaims({ ...CLAIMS, ...more })).toBe(false);
    });
  });

  describe('scopesOf', () => {
    it.each([
      [{}, []],
      [{ scope: [] }, []],
      [{ scope: ['read', 'write'] }, ['read', 'write']],
      [{ scope: 'read write' }, ['read', 'write']],
      [{ scope: 'read' }, ['read']],
    ])('%p: %p', (more, scopes) => {
      expect(scopesOf({ ...CLAIMS, ...more })).toEqual(scopes);
    });
  });

  describe('isFor', () => {
    it.each([
      ['a', 'a', true],
      ['a', 'b', false],
      ['ab', 'a', false],
      [['a', 'b'], 'b', true],
      [['ab', 'b'], 'a', false],
      [['a', 'b'], 'a,b', false],
    ] as const)('finds in %j the audience %j: %p', (aud, audience, expected) => {
      expect(isFor({ ...CLAIMS, aud }, audience)).toBe(expected);
    });
  });
});

function registrationOf(fields: Partial<ClientRegistrationFields>): ClientRegistration {
  const made = ClientRegistration.of({
    ...{ id: '1', clientId: 'a-client', clientSecret: 'x', clientName: 'x', scope: 'read' },
    ...fields,
  });
  if (!made.ok) throw new Error(describeProblem(made.problem));
  return made.value;
}

describe('the activity of a token', () => {
  const CLAIMS: AccessTokenClaims = { iss: 'i', sub: 's', aud: 'a', iat: 100, nbf: 100, exp: 200, jti: 'j' };
  const SITUATION = { issuer: 'i', now: 150, leewaySeconds: 5 };

  it.each([
    ['in its time', {}, undefined],
    ['of another issuer', { issuer: 'i/' }, 'token_issuer_foreign'],
    ['in the last second of the leeway', { now: 204 }, undefined],
    ['behind it', { now: 205 }, 'token_expired'],
    ['in the first second of the leeway', { now: 95 }, undefined],
    ['before it', { now: 94 }, 'token_not_yet_valid'],
  ])('depends on issuer and time: %s', (_name, more, defect) => {
    expect(defectOf(CLAIMS, { ...SITUATION, ...more })).toBe(defect);
  });

  it.each([
    ['a stranger', { clientId: 'x' }, false],
    ['a client with other scopes and audiences', { clientId: 'x', scopes: ['read'], audiences: ['b', 'A'] }, false],
    ['its client', { clientId: 's' }, true],
    ['the client that it is for', { clientId: 'a' }, true],
    ['who serves what it is for', { clientId: 'x', audiences: ['b', 'a'] }, true],
    ['who has the scope for all tokens', { clientId: 'x', scopes: ['read', 'introspect'] }, true],
  ])('is told to those who may know it: %s', (_name, by, may) => {
    expect(mayKnow(CLAIMS, { scopes: [], audiences: [], ...by }, 'introspect')).toBe(may);
    expect(mayKnow({ ...CLAIMS, aud: ['c', 'a'] }, { scopes: [], audiences: [], ...by }, 'introspect')).toBe(may);
  });

  it.each([
    [{ isRevoked: false, issuedUntil: undefined }, false],
    [{ isRevoked: true, issuedUntil: undefined }, true],
    [{ isRevoked: false, issuedUntil: 99 }, false],
    [{ isRevoked: false, issuedUntil: 100 }, true],
  ])('ends when it is revoked, alone or with all up to its second: %j', (state, expected) => {
    expect(isRevoked(CLAIMS, state)).toBe(expected);
  });

  it('ends with the registration of its client, and while that is disabled', () => {
    const registered = registrationOf({ clientId: 's', scope: 'read' });
    const disabled = registrationOf({ clientId: 's', clientSecret: '!x' });
    expect([undefined, registered, disabled].map((one) => isActive(one))).toEqual([false, true, false]);
  });
});

describe('TokenPolicy', () => {
  const scopeText = fc
    .uniqueArray(fc.constantFrom('read', 'write', 'admin', 'a', 'b'), { minLength: 1 })
    .map((tokens) => tokens.join(' '));
  const registration = fc
    .record({ clientId: fc.stringMatching(/^[ -~]{1,30}$/), scope: scopeText })
    .map(registrationOf);
  const requested = fc.option(
    scopeText.map((text) => {
      const scope = Scope.parse(text);
      if (!scope.ok) throw new Error('no scope');
      return scope.value;
    }),
    { nil: undefined },
  );
  const facts = fc.record({
    issuedAt: fc.nat(),
    lifetimeSeconds: fc.integer({ min: 1, max: 86_400 }),
    tokenId: fc.uuid(),
  });

  it('grants exactly the requested scopes if all are registered, and refuses otherwise', () => {
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'array' });
    fc.assert(
      fc.property(registration, requested, (client, asked) => {
        const granted = policy.grant(client, asked, []);
        expect(granted.ok).toBe(asked === undefined || asked.firstBeyond(client.scope) === undefined);
        if (!granted.ok) return;
        expect(granted.value.scope.firstBeyond(client.scope)).toBeUndefined();
        expect(granted.value.scope.toString()).toBe((asked ?? client.scope).toString());
      }),
    );
  });

  it.each(SCOPE_ROWS)(
    'grants the scopes of one API: $scope for $resources',
    ({ scope: asked, resources, granted, error }) => {
      const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'array' });
      const scope = asked === undefined ? undefined : Scope.parse(asked);
      const outcome = policy.grant(registrationOf(REGISTERED), scope?.ok ? scope.value : undefined, resources);
      expect(outcome.ok ? outcome.value.scope.toString() : outcome.problem.code).toBe(granted ?? error);
    },
  );

  it('names the first resource that the client is not registered for', () => {
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'array' });
    const registration = registrationOf({ resources: ['https://a.example'] });
    const asked = ['https://a.example/', 'https://b.example', 'https://c.example'];
    expect(policy.grant(registration, undefined, asked)).toEqual({
      ok: false,
      problem: {
        code: 'invalid_target',
        reason: 'resource_not_registered',
        clientId: 'a-client',
        shown: 'https://b.example',
      },
    });
  });

  it('grants its own audience as a resource to every client if that is switched on, and no other one', () => {
    const client = registrationOf({ clientId: 'c', scope: 'read' });
    const grantOf = (more: object, resource: string) =>
      new TokenPolicy({ issuer: 'i', lifetimeSeconds: 1, scopeClaim: 'absent', ...more }).grant(client, undefined, [
        resource,
      ]);
    const audience = 'https://own.example';
    expect(grantOf({ audience, namesAudience: true }, audience)).toMatchObject({
      ok: true,
      value: { resources: [audience] },
    });
    for (const [more, resource] of [
      [{ audience, namesAudience: true }, 'https://other.example'],
      [{ audience, namesAudience: false }, audience],
      [{ audience }, audience],
      [{ namesAudience: true }, audience],
    ] as const)
      expect(grantOf(more, resource)).toMatchObject({ ok: false, problem: { reason: 'resource_not_registered' } });
  });

  it('says whether the resource or the registration lacks the scope', () => {
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'array' });
    const resources = ['https://plain.example', { resource: 'https://own.example', scope: 'own' }];
    const registration = registrationOf({ scope: 'read', resources });
    const reasonOf = (scope: string, ...requested: readonly string[]) => {
      const asked = Scope.parse(scope);
      const granted = policy.grant(registration, asked.ok ? asked.value : undefined, requested);
      return granted.ok ? granted.value.scope.toString() : granted.problem.reason;
    };
    expect(reasonOf('own')).toBe('scope_not_registered');
    expect(reasonOf('own', 'https://plain.example')).toBe('scope_not_registered');
    expect(reasonOf('own', 'https://own.example')).toBe('own');
    expect(reasonOf('read', 'https://own.example')).toBe('scope_not_of_resource');
  });

  it('grants no token for resources whose scopes only look alike', () => {
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'array' });
    const uris = ['https://a.example', 'https://b.example'];
    const grant = (...scopes: readonly string[]) => {
      const resources = uris.map((resource, index) => ({ resource, scope: scopes[index] ?? '' }));
      const granted = policy.grant(registrationOf({ resources }), undefined, uris);
      return granted.ok ? granted.value.scope.toString() : granted.problem.reason;
    };
    expect([grant('a b', 'ab'), grant('a b', 'b a')]).toEqual(['resources_differ', 'a b']);
  });

  it.each([
    ['as long as the deployment says', undefined, 300],
    ['as long as the client says', 60, 60],
    ['no longer than the deployment says', 86_400, 300],
  ])('gives a token that is valid %s', (_what, token_lifetime_seconds, seconds) => {
    const registration = registrationOf({ token_lifetime_seconds });
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'absent' });
    const claims = policy.claimsOf({ registration, scope: registration.scope, issuedAt: 1_000, tokenId: 'id' });
    expect(claims.exp - claims.iat).toBe(seconds);
  });

  it('puts the claims of the client behind those of the service', () => {
    const registration = registrationOf({ claims: { tenant: 'acme', groups: ['a', 'b'] } });
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'absent' });
    const claims = policy.claimsOf({ registration, scope: registration.scope, issuedAt: 1_000, tokenId: 'id' });
    expect(Object.entries(claims).slice(-3)).toEqual([
      ['jti', 'id'],
      ['tenant', 'acme'],
      ['groups', ['a', 'b']],
    ]);
  });

  it('lets no claim of a client replace one of the service', () => {
    const registration = { ...registrationOf({}), claims: { exp: 9, tenant: 'acme' } } as unknown as ClientRegistration;
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'absent' });
    const { scope } = registration;
    const claims = policy.claimsOf({ registration, scope, issuedAt: 1_000, tokenId: 'id' });
    expect(claims).toMatchObject({ exp: 1_300, tenant: 'acme' });
  });

  it('gives every token its lifetime, nbf = iat, and only the configured claims', () => {
    fc.assert(
      fc.property(
        registration,
        facts,
        fc.constantFrom('absent' as const, 'array' as const),
        (client, own, scopeClaim) => {
          const policy = new TokenPolicy({ issuer: 'issuer', lifetimeSeconds: own.lifetimeSeconds, scopeClaim });
          const claims = policy.claimsOf({
            registration: client,
            scope: client.scope,
            issuedAt: own.issuedAt,
            tokenId: own.tokenId,
          });
          expect(claims).toStrictEqual({
            iss: 'issuer',
            sub: client.clientId,
            aud: client.clientId,
            iat: own.issuedAt,
            nbf: own.issuedAt,
            exp: own.issuedAt + own.lifetimeSeconds,
            jti: own.tokenId,
            ...(scopeClaim === 'array' && { scope: client.scope.toArray() }),
          });
        },
      ),
    );
  });

  it('gives every token the configured audience, for every client, and changes nothing else', () => {
    fc.assert(
      fc.property(registration, facts, fc.string({ minLength: 1 }), (client, own, audience) => {
        const options = { issuer: 'issuer', lifetimeSeconds: own.lifetimeSeconds, scopeClaim: 'absent' } as const;
        const about = { registration: client, scope: client.scope, issuedAt: own.issuedAt, tokenId: own.tokenId };
        const claims = new TokenPolicy({ ...options, audience }).claimsOf(about);
        expect(claims).toStrictEqual({ ...new TokenPolicy(options).claimsOf(about), aud: audience });
      }),
    );
  });

  it('adds client_id and the granted scopes as one string to a token of RFC 9068, whether or not the default profile has a scope claim', () => {
    fc.assert(
      fc.property(
        registration,
        requested,
        facts,
        fc.constantFrom('absent' as const, 'array' as const),
        fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
        (client, asked, own, scopeClaim, audience) => {
          const options = { issuer: 'issuer', lifetimeSeconds: own.lifetimeSeconds, audience };
          const policy = new TokenPolicy({
            ...options,
            profile: audience?.length === 1 ? 'common' : 'rfc9068',
            scopeClaim,
          });
          const scope = asked ?? client.scope;
          const about = { registration: client, scope, issuedAt: own.issuedAt, tokenId: own.tokenId };
          const claims = policy.claimsOf(about);
          expect(claims).toStrictEqual({
            ...new TokenPolicy({ ...options, scopeClaim: 'absent' }).claimsOf(about),
            client_id: client.clientId,
            scope: scope.toString(),
          });
          expect(scopesOf(claims)).toEqual(scope.toArray());
          expect(isAccessTokenClaims(claims)).toBe(true);
        },
      ),
    );
  });

  it('has the type at+jwt only in the profile of RFC 9068, and that of any JWT in the common one', () => {
    const options = { issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'absent' } as const;
    expect(new TokenPolicy({ ...options, profile: 'rfc9068' }).type).toBe('at+jwt');
    expect(new TokenPolicy({ ...options, profile: 'common' }).type).toBe('JWT');
    expect(new TokenPolicy({ ...options, profile: 'default' }).type).toBeUndefined();
    expect(new TokenPolicy(options).type).toBeUndefined();
  });

  it('gives a token its resources as the audience, one as a text and several as an array, and changes nothing else', () => {
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, audience: 'a', scopeClaim: 'absent' });
    fc.assert(
      fc.property(
        registration,
        facts,
        fc.uniqueArray(
          fc.webAuthority().map((host) => `https://${host}`),
          { maxLength: 3 },
        ),
        (client, own, resources) => {
          const given = { registration: client, scope: client.scope, ...own };
          const [first = 'a', ...others] = resources;
          const aud = others.length === 0 ? first : resources;
          expect(policy.claimsOf({ ...given, resources })).toStrictEqual({ ...policy.claimsOf(given), aud });
          expect(isAccessTokenClaims(policy.claimsOf({ ...given, resources }))).toBe(true);
        },
      ),
    );
  });
});

describe('refusal', () => {
  /** Some reasons, by what the caller gets to know of them. */
  const REASONS: Readonly<Record<string, readonly RefusalReason[]>> = {
    invalid_client: [
      'client_unknown',
      'registration_broken',
      'stored_secret_unusable',
      'presented_secret_unusable',
      'secret_wrong',
    ],
    slow_down: ['attempts_exhausted'],
    invalid_scope: ['scope_malformed', 'scope_not_registered', 'scope_not_of_resource'],
    invalid_token: [
      'token_malformed',
      'token_algorithm_refused',
      'token_key_unknown',
      'token_signature_wrong',
      'token_claims_malformed',
      'token_issuer_foreign',
      'token_audience_foreign',
      'token_expired',
      'token_not_yet_valid',
    ],
    insufficient_scope: ['scope_insufficient'],
  };

  it.each(Object.entries(REASONS).flatMap(([code, reasons]) => reasons.map((reason) => [reason, code] as const)))(
    'tells the caller of %s only %s',
    (reason, code) => {
      expect(refused(reason).problem).toStrictEqual({ code, reason });
    },
  );

  it('is invalid_grant in place of invalid_client where the assertion is the grant, with the same reason', () => {
    expect(refusedGrant(refused('client_unknown', 'c')).problem).toEqual({
      code: 'invalid_grant',
      reason: 'client_unknown',
      clientId: 'c',
    });
    expect(refusedGrant(refused('scope_malformed')).problem).toEqual(refused('scope_malformed').problem);
  });

  it('names the client for the log, if there is one', () => {
    const { ok, problem } = refused('secret_wrong', 'c');
    expect(ok).toBe(false);
    expect(problem).toEqual({ code: 'invalid_client', reason: 'secret_wrong', clientId: 'c' });
    expect(refused('secret_wrong').problem).not.toHaveProperty('clientId');
  });
});

describe('clockWindow', () => {
  it('allows ten seconds in both directions around the clock of the directory', () => {
    expect(CLOCK_OFFSET_SECONDS_MAX).toBe(10);
    expect(clockWindow(5_000, 100, 100)).toEqual({ exact: 4_900, min: 4_890, max: 4_910 });
  });

  it('takes the middle of the query for the time at which the directory read its clock, and allows for the rest of it', () => {
    expect(clockWindow(5_000, 100, 104)).toEqual({ exact: 4_898, min: 4_886, max: 4_910 });
  });
});

describe('readTokenKey', () => {
  const RSA = { kty: 'RSA', kid: 'a', n: 'modulus', e: 'AQAB' };
  const EC = { kty: 'EC', crv: 'P-256', kid: 'b', x: 'one', y: 'two' };
  const OKP = { kty: 'OKP', crv: 'Ed25519', kid: 'c', x: 'one' };

  it.each([
    ['an RSA key without an algorithm', RSA, { ...RSA, use: 'sig', alg: 'RS256' }],
    ['an RSA key for PS256', { ...RSA, alg: 'PS256' }, { ...RSA, use: 'sig', alg: 'PS256' }],
    ['a P-256 key', EC, { ...EC, use: 'sig', alg: 'ES256' }],
    ['an Ed25519 key', OKP, { ...OKP, use: 'sig', alg: 'EdDSA' }],
    ['a key for signatures', { ...EC, use: 'sig', key_ops: ['sign', 'verify'] }, { ...EC, use: 'sig', alg: 'ES256' }],
    ['only what its type needs', { ...OKP, y: 'z', d: 'secret', x5c: [] }, { ...OKP, use: 'sig', alg: 'EdDSA' }],
  ])('reads %s', (_what, jwk, key) => {
    expect(readTokenKey(jwk)).toEqual(key);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'key'],
    ['a key of another type', { ...RSA, kty: 'oct' }],
    ['another curve', { ...EC, crv: 'P-384' }],
    ['a curve of another type', { ...EC, crv: 'Ed25519' }],
    ['the algorithm of another type', { ...EC, alg: 'RS256' }],
    ['an algorithm for encryption', { ...RSA, alg: 'RSA-OAEP' }],
    ['a key for encryption', { ...RSA, use: 'enc' }],
    ['a key that only signs', { ...RSA, key_ops: ['sign'] }],
    ['operations that are no list', { ...RSA, key_ops: 'verify' }],
    ['a key without an id', { ...RSA, kid: undefined }],
    ['an empty id', { ...RSA, kid: '' }],
    ['an id that is no text', { ...RSA, kid: 1 }],
    ['an empty modulus', { ...RSA, n: '' }],
    ['a missing coordinate', { ...EC, y: undefined }],
  ])('reads no key from %s', (_what, jwk) => {
    expect(readTokenKey(jwk)).toBeUndefined();
  });
});

describe('texts about keys', () => {
  it.each<readonly [TokenAlgorithm, string, string]>([
    ['RS256', 'an RSA key', 'an RSA key of 2048 to 4096 bits with an odd public exponent of at least 3'],
    ['PS256', 'an RSA key', 'an RSA key of 2048 to 4096 bits with an odd public exponent of at least 3'],
    ['ES256', 'a P-256 key', 'a P-256 key'],
    ['EdDSA', 'an Ed25519 key', 'an Ed25519 key'],
  ])('name what %s needs', (algorithm, kind, rule) => {
    expect(KEY_TYPES[algorithm]).toMatchObject({ kind, rule });
  });
});

describe('grants', () => {
  it.each([
    ['client_credentials', 'client_credentials'],
    ['jwt-bearer', 'jwt-bearer'],
    ['urn:ietf:params:oauth:grant-type:jwt-bearer', 'jwt-bearer'],
    ['password', undefined],
    [undefined, undefined],
  ])('are named short or in full: %s', (name, grant) => {
    expect(grantNamed(name)).toBe(grant);
  });

  it.each([null, ['jwt-bearer'], ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer']])(
    'of a client may be %j',
    (grants) => {
      expect(ruleOfGrants(grants)).toBeUndefined();
    },
  );

  it.each([
    [[]],
    [['password']],
    [['jwt-bearer', 'urn:ietf:params:oauth:grant-type:jwt-bearer']],
    ['jwt-bearer'],
    [undefined],
  ])('of a client may not be %j', (grants) => {
    expect(ruleOfGrants(grants)).toBe('must be an array of client_credentials and jwt-bearer, each at most once');
  });
});

describe('the locations of the example', () => {
  it('have a code, names and a country of their own', () => {
    expect(PLACES.find(({ code }) => code === 'NYC_USA')).toEqual({
      code: 'NYC_USA',
      cityName: 'New York City',
      regionName: 'New York',
      countryName: 'United States of America',
      countryCode: 'US',
      enabled: true,
    });
    expect(new Set(PLACES.map(({ code }) => code)).size).toBe(PLACES.length);
    for (const { countryCode, enabled } of PLACES)
      expect([countryCode, enabled]).toEqual([expect.stringMatching(/^[A-Z]{2}$/), true]);
  });
});

describe('authentication methods', () => {
  it.each([
    ['client_secret_post', true],
    ['client_secret_basic', true],
    ['private_key_jwt', false],
    ['federated_jwt', false],
  ] as const)('%s: sends a secret %s', (method, isSecret) => {
    expect(sendOnlySecrets([method])).toBe(isSecret);
    expect(sendOnlySecrets(['client_secret_post', method])).toBe(isSecret);
  });

  it('of a client are those that it has something for', () => {
    const methods = methodsFor({ secret: true, key: false, subject: true });
    expect(methods).toEqual(['client_secret_post', 'client_secret_basic', 'federated_jwt']);
    expect(methodsFor({ secret: false, key: true, subject: false })).toEqual(['private_key_jwt']);
  });
});
