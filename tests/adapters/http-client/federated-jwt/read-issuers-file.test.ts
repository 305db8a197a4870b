import { describe, expect, test } from '@jest/globals';
import { readIssuersFile } from '../../../../adapters/http-client/federated-jwt/read-issuers-file.ts';
import { WorkloadKey } from '../../../support/workload-issuer.ts';

const URI = 'https://issuer.example/keys';
const RSA = new WorkloadKey('rsa').jwk();
const CURVE = new WorkloadKey('curve', 'ES384').jwk();

const read = (...entries: readonly unknown[]) => readIssuersFile(JSON.stringify(entries));

function only(...entries: readonly unknown[]) {
  const file = read(...entries);
  if (!file.ok) throw new Error(file.problem.join('\n'));
  return file.value[0];
}

describe('a file of trusted issuers', () => {
  test('names issuers and trust domains with their keys, and has defaults for the rest', () => {
    const file = read(
      { issuer: 'https://token.actions.githubusercontent.com', jwks_uri: URI },
      {
        issuer: 'https://cluster.example',
        jwks: { keys: [RSA] },
        audience: 'auth',
        algorithms: ['RS256'],
        preset: 'kubernetes',
      },
      { spiffe_trust_domain: 'example.org', jwks_uri: 'http://127.0.0.1:8080/bundle' },
    );
    expect(file).toMatchObject({
      ok: true,
      value: [
        {
          issuer: 'https://token.actions.githubusercontent.com',
          audience: undefined,
          algorithms: ['RS256', 'ES256', 'ES384'],
          preset: 'github-actions',
          source: { uri: URI },
        },
        {
          issuer: 'https://cluster.example',
          audience: 'auth',
          preset: 'kubernetes',
          source: { keys: [{ kid: 'rsa' }] },
        },
        { issuer: 'spiffe://example.org', preset: 'spiffe' },
      ],
    });
  });

  test('keeps only keys that can have signed an assertion', () => {
    const keys = [
      RSA,
      CURVE,
      { ...RSA, kid: 'encryption', use: 'enc' },
      { ...RSA, kid: 'twice' },
      { ...new WorkloadKey('twice').jwk() },
      new WorkloadKey('ed', 'EdDSA').jwk(),
      { kty: 'oct', k: 'AAAA', kid: 'secret' },
      null,
    ];
    const { source } = only({ issuer: 'a', jwks: { keys } }) ?? {};
    expect(source).toMatchObject({ keys: [{ kid: 'rsa' }, { kid: 'curve' }] });
    expect(source).toHaveProperty('keys.length', 2);
  });

  test('keeps different keys without an id', () => {
    const keys = [RSA, CURVE].map(({ kid, ...jwk }) => jwk);
    expect(only({ issuer: 'a', jwks: { keys } })?.source).toHaveProperty('keys.length', 2);
  });

  test.each(['http://localhost:8080/keys', 'http://[::1]/keys', 'http://127.1.2.3/keys', 'https://10.0.0.1/keys'])(
    'may name keys at %s',
    (uri) => {
      expect(only({ issuer: 'a', jwks_uri: uri })?.source).toEqual({ uri });
    },
  );

  test('may have 100 issuers', () => {
    expect(read(...Array.from({ length: 100 }, (_, n) => ({ issuer: `i${n}`, jwks_uri: URI }))).ok).toBe(true);
  });

  test('takes the keys for JWT-SVIDs from a bundle, and no others', () => {
    const keys = [
      RSA,
      { ...CURVE, kid: 'svid', use: 'jwt-svid' },
      { ...CURVE, kid: 'none', use: undefined },
      { ...CURVE, kid: 'x509', use: 'x509-svid' },
    ];
    const { source } = only({ spiffe_trust_domain: 'example.org', jwks: { keys, spiffe_sequence: 1 } }) ?? {};
    expect(source).toMatchObject({ keys: [{ kid: 'svid' }] });
    expect(source).toHaveProperty('keys.length', 1);
  });

  test.each([
    ['no array', {}, 'must be a JSON array that is not empty'],
    ['an empty array', [], 'must be a JSON array that is not empty'],
    [
      '101 issuers',
      Array.from({ length: 101 }, (_, n) => ({ issuer: `i${n}`, jwks_uri: URI })),
      'must have at most 100 issuers',
    ],
    ['a text', ['x'], 'entry 0: it must be an object'],
    ['nothing in place of an issuer', [null], 'entry 0: it must be an object'],
    ['an array in place of an issuer', [[]], 'entry 0: it must be an object'],
    ['an unknown member', [{ issuer: 'a', jwks_uri: URI, jwk_uri: URI }], /members other than/],
    ['no issuer', [{ jwks_uri: URI }], /either issuer or spiffe_trust_domain/],
    ['two kinds of issuer', [{ issuer: 'a', spiffe_trust_domain: 'b', jwks_uri: URI }], /either issuer/],
    [
      'a trust domain as an issuer',
      [{ issuer: 'spiffe://example.org', jwks_uri: URI }],
      /named by spiffe_trust_domain/,
    ],
    [
      'a trust domain with its scheme',
      [{ spiffe_trust_domain: 'spiffe://example.org', jwks_uri: URI }],
      /such as example\.org/,
    ],
    ['an empty issuer', [{ issuer: '', jwks_uri: URI }], /issuer must be/],
    [
      'an issuer twice',
      [
        { issuer: 'a', jwks_uri: URI },
        { issuer: 'a', jwks_uri: URI },
      ],
      'entry 1: issuer is that of entry 0',
    ],
    ['no keys', [{ issuer: 'a' }], /either jwks_uri or jwks/],
    ['two sources of keys', [{ issuer: 'a', jwks_uri: URI, jwks: { keys: [RSA] } }], /either jwks_uri or jwks/],
    ['http beyond loopback', [{ issuer: 'a', jwks_uri: 'http://issuer.example/keys' }], /https/],
    ['http to a name that looks like loopback', [{ issuer: 'a', jwks_uri: 'http://127.0.0.1.evil.example/' }], /https/],
    ['a user in the URL', [{ issuer: 'a', jwks_uri: 'https://user:secret@issuer.example/keys' }], /without user/],
    ['only a user in the URL', [{ issuer: 'a', jwks_uri: 'https://user@issuer.example/keys' }], /without user/],
    ['only a password in the URL', [{ issuer: 'a', jwks_uri: 'https://:secret@issuer.example/keys' }], /without user/],
    ['a fragment in the URL', [{ issuer: 'a', jwks_uri: `${URI}#secret` }], /and fragment/],
    ['white space in the URL', [{ issuer: 'a', jwks_uri: `${URI} ` }], /https/],
    ['a URL that is no text', [{ issuer: 'a', jwks_uri: 7 }], /https/],
    ['http to an address beyond loopback', [{ issuer: 'a', jwks_uri: 'http://10.0.0.1/keys' }], /https/],
    ['a file', [{ issuer: 'a', jwks_uri: 'file:///etc/passwd' }], /https/],
    [
      'an algorithm with a shared secret',
      [{ issuer: 'a', jwks_uri: URI, algorithms: ['HS256'] }],
      /algorithms must be/,
    ],
    ['no algorithm', [{ issuer: 'a', jwks_uri: URI, algorithms: [] }], /algorithms must be/],
    ['the algorithm none', [{ issuer: 'a', jwks_uri: URI, algorithms: ['none'] }], /algorithms must be/],
    ['an unknown preset', [{ issuer: 'a', jwks_uri: URI, preset: 'github' }], /preset must be/],
    [
      'another preset for a trust domain',
      [{ spiffe_trust_domain: 'a', jwks_uri: URI, preset: 'none' }],
      /must be spiffe/,
    ],
    ['several audiences', [{ issuer: 'a', jwks_uri: URI, audience: ['a'] }], /audience must be/],
    ['no key set', [{ issuer: 'a', jwks: [RSA] }], 'entry 0: jwks must be a JWK set'],
    ['an empty key set', [{ issuer: 'a', jwks: { keys: [] } }], /must have a key for RS256 or ES256/],
    ['a key set of private keys', [{ issuer: 'a', jwks: { keys: [{ ...RSA, d: 'AAAA' }] } }], /must have a key/],
    [
      'keys for another algorithm',
      [{ issuer: 'a', jwks: { keys: [CURVE] }, algorithms: ['RS256'] }],
      /must have a key for RS256/,
    ],
    ['a bundle without keys for JWT-SVIDs', [{ spiffe_trust_domain: 'a', jwks: { keys: [RSA] } }], /use jwt-svid/],
    ['101 keys', [{ issuer: 'a', jwks: { keys: Array.from({ length: 101 }, () => RSA) } }], /at most 100 keys/],
  ])('is refused with %s', (_what, file, problem) => {
    const { ok, problem: problems } = readIssuersFile(JSON.stringify(file)) as {
      ok: boolean;
      problem: readonly string[];
    };
    expect(ok).toBe(false);
    expect(problems).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
    expect(problems.join()).not.toMatch(/evil|secret|passwd|issuer\.example/);
  });

  test('that is no JSON is refused without quoting it', () => {
    expect(readIssuersFile('[{"issuer": secret}]')).toEqual({
      ok: false,
      problem: ['must be a JSON array that is not empty'],
    });
  });

  test('is refused with every problem of every entry', () => {
    const file = read({ issuer: '', jwks_uri: 'x', preset: 'x' }, { issuer: 'a' });
    expect(file.ok ? [] : file.problem).toHaveLength(4);
  });

  test('is not said to repeat an issuer that it does not name', () => {
    for (const entry of [{ jwks_uri: URI }, { issuer: 7, jwks_uri: URI }]) {
      const file = read(entry, entry);
      expect(file.ok ? [] : file.problem.join()).not.toContain('issuer is that of entry');
    }
  });
});
