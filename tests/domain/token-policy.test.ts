import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isAccessTokenClaims, scopesOf } from '../../domain/access-token-claims.ts';
import { ClientRegistration } from '../../domain/client-registration.ts';
import { Scope } from '../../domain/scope.ts';
import { TokenPolicy } from '../../domain/token-policy.ts';

const scopeText = fc
  .uniqueArray(fc.constantFrom('read', 'write', 'admin', 'a', 'b'), { minLength: 1 })
  .map((tokens) => tokens.join(' '));
const registration = fc
  .record({ clientId: fc.stringMatching(/^[ -~]{1,30}$/), scope: scopeText })
  .map(({ clientId, scope }) => {
    const made = ClientRegistration.of({ id: '1', clientId, clientSecret: 'x', clientName: 'x', scope });
    if (!made.ok) throw new Error('no registration');
    return made.value;
  });
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

describe('TokenPolicy', () => {
  it('grants exactly the requested scopes if all are registered, and refuses otherwise', () => {
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'array' });
    fc.assert(
      fc.property(registration, requested, (client, asked) => {
        const granted = policy.grantScope(client, asked);
        expect(granted.ok).toBe(asked === undefined || asked.isSubsetOf(client.scope));
        if (!granted.ok) return;
        expect(granted.value.isSubsetOf(client.scope)).toBe(true);
        expect(granted.value.toString()).toBe((asked ?? client.scope).toString());
      }),
    );
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
          const policy = new TokenPolicy({ ...options, profile: 'rfc9068', scopeClaim });
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

  it('has the type at+jwt only in the profile of RFC 9068', () => {
    const options = { issuer: 'i', lifetimeSeconds: 300, scopeClaim: 'absent' } as const;
    expect(new TokenPolicy({ ...options, profile: 'rfc9068' }).type).toBe('at+jwt');
    expect(new TokenPolicy({ ...options, profile: 'default' }).type).toBeUndefined();
    expect(new TokenPolicy(options).type).toBeUndefined();
  });

  it('gives a token its resources as the audience, one as a text and several as an array, and changes nothing else', () => {
    const policy = new TokenPolicy({ issuer: 'i', lifetimeSeconds: 300, audience: 'a', scopeClaim: 'absent' });
    fc.assert(
      fc.property(registration, facts, fc.uniqueArray(fc.webUrl(), { maxLength: 3 }), (client, own, resources) => {
        const given = { registration: client, scope: client.scope, ...own };
        const [first = 'a', ...others] = resources;
        const aud = others.length === 0 ? first : resources;
        expect(policy.claimsOf({ ...given, resources })).toStrictEqual({ ...policy.claimsOf(given), aud });
        expect(isAccessTokenClaims(policy.claimsOf({ ...given, resources }))).toBe(true);
      }),
    );
  });
});
