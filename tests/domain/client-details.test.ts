import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  type ClientDetails,
  checkDetails,
  countExpiring,
  DETAILS_MAX,
  NO_DETAILS,
} from '../../domain/client-details.ts';
import { type PublicJwk, readPublicJwk } from '../../domain/public-jwk.ts';

const ENCODED = `$2b$10$${'a'.repeat(53)}`;

function newKey(): PublicJwk {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const read = readPublicJwk(publicKey.export({ format: 'jwk' }));
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

// RFC 7517 appendix A.1. Fixed, since names of tests contain it.
const JWK: PublicJwk = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
};
const SECRET = { secret_id: 'cs-1', name: 'first', encoded: ENCODED };
const SUBJECT = { issuer: 'https://issuer.example', subject: 'repo:a/b', claims: { '/repository_id': '1' } };
const RESOURCE = 'https://api.example/v1';
const DETAILS: ClientDetails = {
  secrets: [SECRET],
  keys: [{ jwk: JWK, expires_at: 1_800_000_000 }],
  subjects: [SUBJECT],
  resources: [RESOURCE],
};

describe('checkDetails', () => {
  it('accepts details, and none', () => {
    expect(checkDetails(DETAILS)).toEqual({ ok: true, value: DETAILS });
    expect(checkDetails(NO_DETAILS).ok).toBe(true);
  });

  it.each([
    ['secrets', (n: number) => ({ ...SECRET, secret_id: `cs-${n}` })],
    ['keys', () => ({ jwk: newKey() })],
    ['subjects', (n: number) => ({ ...SUBJECT, subject: `s-${n}` })],
    ['resources', (n: number) => `${RESOURCE}/${n}`],
  ] as const)('accepts as many %s as there may be, and not one more', (kind, make) => {
    const most = DETAILS_MAX[kind];
    const entries = Array.from({ length: most + 1 }, (_, n) => make(n));
    expect(checkDetails({ ...NO_DETAILS, [kind]: entries.slice(1) }).ok).toBe(true);
    expect(checkDetails({ ...NO_DETAILS, [kind]: entries })).toEqual({
      ok: false,
      problem: { kind, position: undefined, rule: `must be at most ${most}` },
    });
  });

  it('refuses two keys of one name, of which an assertion could only mean one', () => {
    const named = (kid: string) => ({ jwk: { ...newKey(), kid } });
    const checked = checkDetails({ ...NO_DETAILS, keys: [{ jwk: newKey() }, named('k'), named('other'), named('k')] });
    expect(checked).toEqual({ ok: false, problem: { kind: 'keys', position: 3, rule: 'has the kid of another one' } });
  });

  it.each([
    ['secrets', [SECRET, { ...SECRET, name: 'second' }]],
    ['keys', [{ jwk: JWK }, { jwk: { ...JWK, kid: 'another name' } }]],
    ['subjects', [SUBJECT, { ...SUBJECT, claims: {} }]],
    ['resources', [RESOURCE, RESOURCE]],
  ] as const)('refuses two %s that cannot be distinguished', (kind, entries) => {
    const checked = checkDetails({ ...NO_DETAILS, [kind]: entries });
    expect(checked).toEqual({ ok: false, problem: { kind, position: 1, rule: 'is repeated' } });
  });

  it.each([
    ['a name of 255 characters', { secrets: [{ ...SECRET, name: 'x'.repeat(255) }] }],
    ['a secret that expired at once', { secrets: [{ ...SECRET, expires_at: 0 }] }],
    ['a plain secret behind its id', { secrets: [{ ...SECRET, encoded: '{noop}cs-1.the-rest' }] }],
    ['a subject of 2,000 characters', { subjects: [{ ...SUBJECT, subject: 'x'.repeat(2_000) }] }],
    [
      'twenty claims',
      { subjects: [{ ...SUBJECT, claims: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`/${n}`, 'x'])) }] },
    ],
  ])('accepts %s', (_what, details) => {
    expect(checkDetails({ ...NO_DETAILS, ...details }).ok).toBe(true);
  });

  it.each([
    ['secrets', { ...SECRET, encoded: '{noop}cs-2.the-rest' }, /begin with its secret_id/],
    ['secrets', { ...SECRET, secret_id: 'a b' }, /secret_id/],
    ['secrets', { ...SECRET, secret_id: 'x'.repeat(65) }, /secret_id/],
    ['secrets', { ...SECRET, name: '' }, /name/],
    ['secrets', { ...SECRET, name: 'a\nb' }, /name/],
    ['secrets', { ...SECRET, encoded: 'plain-secret' }, /BCrypt/],
    ['secrets', { ...SECRET, expires_at: 1.5 }, /expires_at/],
    ['secrets', { ...SECRET, expires_at: -1 }, /expires_at/],
    ['keys', { jwk: { ...JWK, x: 'AAAA' } }, /base64url/],
    ['keys', { jwk: JWK, expires_at: Number.NaN }, /expires_at/],
    ['subjects', { ...SUBJECT, issuer: '' }, /issuer/],
    ['subjects', { ...SUBJECT, subject: 'x'.repeat(2_001) }, /subject/],
    ['subjects', { ...SUBJECT, claims: { '/a': '' } }, /claims/],
    ['subjects', { ...SUBJECT, claims: { repository_id: '1' } }, /JSON pointers/],
    [
      'subjects',
      { ...SUBJECT, claims: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [n, 'x'])) },
      /at most 20/,
    ],
    ['resources', 'https://api.example/#part', /without a fragment/],
    ['resources', '/v1', /absolute URI/],
    ['resources', 'urn:', /absolute URI/],
    ['resources', 'https://api.example/a b', /absolute URI/],
  ])('refuses one of the %s: %j', (kind, entry, rule) => {
    const checked = checkDetails({ ...NO_DETAILS, [kind]: [entry] });
    expect(checked).toEqual({ ok: false, problem: { kind, position: 0, rule: expect.stringMatching(rule) } });
    expect(JSON.stringify(checked)).not.toContain('plain-secret');
  });
});

describe('countExpiring', () => {
  it('counts what is valid now and expires within 30 days', () => {
    const at = (expires_at: number) => ({ ...SECRET, expires_at });
    const now = 1_000;
    const secrets = [at(now), at(now + 1), at(now + 2_592_000), at(now + 2_592_001), SECRET];
    expect(countExpiring([{ ...NO_DETAILS, secrets }, NO_DETAILS], now)).toEqual({ secrets: 2, keys: 0 });
    const keys = [now, now + 1, now + 9].map((expires_at) => ({ jwk: JWK, expires_at }));
    expect(countExpiring([{ ...NO_DETAILS, keys }], now)).toEqual({ secrets: 0, keys: 2 });
  });
});
