import { expect, test } from '@jest/globals';
import { isTrustDomain, trustDomainOf } from '../../../domain/federated-jwt/spiffe-id.ts';

test.each([
  ['spiffe://example.org/billing', 'example.org'],
  ['spiffe://example.org/ns/shop/sa/billing', 'example.org'],
  ['spiffe://a_b-c.9/X.y_z-', 'a_b-c.9'],
  ['spiffe://example.org/.../x', 'example.org'],
  [`spiffe://${'a'.repeat(255)}/x`, 'a'.repeat(255)],
  [`spiffe://example.org/${'a'.repeat(2_027)}`, 'example.org'],
])('%s is of the trust domain %s', (id, trustDomain) => {
  expect(trustDomainOf(id)).toBe(trustDomain);
});

test.each([
  ['the trust domain itself', 'spiffe://example.org'],
  ['a path that ends with a slash', 'spiffe://example.org/billing/'],
  ['an empty path', 'spiffe://example.org/'],
  ['an empty segment', 'spiffe://example.org//billing'],
  ['a dot as a segment', 'spiffe://example.org/./billing'],
  ['two dots as a segment', 'spiffe://example.org/a/../billing'],
  ['an escape', 'spiffe://example.org/%62illing'],
  ['a port', 'spiffe://example.org:443/billing'],
  ['a user', 'spiffe://user@example.org/billing'],
  ['a query', 'spiffe://example.org/billing?x'],
  ['a fragment', 'spiffe://example.org/billing#x'],
  ['upper case in the trust domain', 'spiffe://Example.org/billing'],
  ['upper case in the scheme', 'SPIFFE://example.org/billing'],
  ['text in front', 'x spiffe://example.org/billing'],
  ['another scheme', 'https://example.org/billing'],
  ['a line break after it', 'spiffe://example.org/billing\n'],
  ['a letter of another script', 'spiffe://exаmple.org/billing'],
  ['a trust domain that is too long', `spiffe://${'a'.repeat(256)}/billing`],
  ['a path that is too long', `spiffe://example.org/${'a'.repeat(2_048)}`],
])('an ID with %s is none of a workload', (_what, id) => {
  expect(trustDomainOf(id)).toBeUndefined();
});

test.each([
  ['example.org', true],
  ['a'.repeat(255), true],
  ['a'.repeat(256), false],
  ['', false],
  ['Example.org', false],
  ['example.org:443', false],
  ['user@example.org', false],
  ['spiffe://example.org', false],
])('whether %s can name a trust domain: %s', (text, expected) => {
  expect(isTrustDomain(text)).toBe(expected);
});
