import { describe, expect, it } from '@jest/globals';
import { type AccessTokenClaims, isAccessTokenClaims, isFor, scopesOf } from '../../domain/access-token-claims.ts';

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
