import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { claimAt, isClaimPath, unmetConditions } from '../../domain/claim-path.ts';
import { ClientAssertion } from '../../domain/client-assertion.ts';
import type { FederatedSubject } from '../../domain/client-details.ts';
import { type IssuerPreset, presetOf } from '../../domain/federated-jwt/issuer-preset.ts';
import { isTrustDomain, trustDomainOf } from '../../domain/federated-jwt/spiffe-id.ts';
import { type TrustedIssuer, TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { refusalOfKeyAssertion } from '../../domain/private-key-jwt/key-assertion-rules.ts';
import { algorithmsOf, readPublicJwk } from '../../domain/public-jwk.ts';
import { anyText } from '../support/any-text.ts';

describe('ClientAssertion', () => {
  const HEADER = { alg: 'ES256' };
  const CLAIMS = { iss: 'client', sub: 'client', aud: 'https://auth.example', exp: 1_800_000_000 };

  const encode = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  const latin1 = (text: string) => Buffer.from(text, 'latin1').toString('base64url');
  const compact = (header: unknown, claims: unknown) => `${encode(header)}.${encode(claims)}.c2ln`;
  const elements = (count: number) => Array.from({ length: count }, () => 1);
  const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown;
  const payloadOf = (text: string) => {
    const assertion = ClientAssertion.parse(text);
    return assertion.ok ? assertion.value.readPayload() : assertion.problem;
  };

  it('reads header and claims, and verifies nothing', () => {
    const more = { iat: 1_799_999_900.5, nbf: 0, jti: 'one', 'kubernetes.io': { namespace: 'ns' } };
    const assertion = ClientAssertion.parse(compact({ ...HEADER, kid: 'k', typ: 'JWT', x: 1 }, { ...CLAIMS, ...more }));
    if (!assertion.ok) throw new Error(assertion.problem);
    const { header, claims } = assertion.value;
    expect(header).toEqual({ alg: 'ES256', kid: 'k', typ: 'JWT' });
    expect(claims).toEqual({ ...CLAIMS, aud: [CLAIMS.aud], iat: more.iat, nbf: 0, jti: 'one' });
    expect(assertion.value.readPayload()['kubernetes.io']).toEqual({ namespace: 'ns' });
    expect(JSON.stringify(assertion.value)).not.toContain('c2ln');
  });

  it.each([
    ['read write', 'read write'],
    [['read'], undefined],
    [1, undefined],
  ])('reads the requested scopes as one text, and ignores others: %j', (scope, expected) => {
    const read = ClientAssertion.parse(compact(HEADER, { ...CLAIMS, scope }));
    expect(read.ok && read.value.claims.scope).toBe(expected);
  });

  it('reads several audiences, and claims without an issuer', () => {
    const assertion = ClientAssertion.parse(compact(HEADER, { sub: 'client', aud: ['a', 'b'], exp: 1 }));
    expect(assertion.ok && assertion.value.claims).toEqual({ sub: 'client', aud: ['a', 'b'], exp: 1 });
  });

  it('reads texts beyond ASCII, and the characters of base64url that base64 does not have', () => {
    const claims = { ...CLAIMS, name: 'Zoë – 東京 😀', '~~~???': '>>>~~~???' };
    const text = compact(HEADER, claims);
    expect(text).toMatch(/-.*_|_.*-/);
    expect(payloadOf(text)).toEqual(claims);
  });

  it('reads colons, quotation marks and equal names in different objects', () => {
    const claims = { ...CLAIMS, a: { x: 'a":"b', y: '\\' }, b: [{ x: ':' }, null, { x: null }], 'c":': '"' };
    expect(payloadOf(compact(HEADER, claims))).toEqual(claims);
  });

  it.each([
    ['as many values as may be', compact(HEADER, { ...CLAIMS, x: elements(995) })],
    [
      'more objects beside each other than may be in each other',
      compact(HEADER, { ...CLAIMS, x: elements(20).map(() => ({})) }),
    ],
    ['claims that are nested as deeply as may be', compact(HEADER, { ...CLAIMS, x: nested(15) })],
    ['brackets and commas in texts', compact(HEADER, { ...CLAIMS, x: '[{,'.repeat(1_000), '[,': '\\"{[,\\' })],
    ['a subject of 2,000 characters', compact(HEADER, { ...CLAIMS, sub: 's'.repeat(2_000) })],
    ['the greatest time', compact(HEADER, { ...CLAIMS, exp: Number.MAX_SAFE_INTEGER })],
    ['12 KiB', `${compact(HEADER, CLAIMS)}${'A'.repeat(12_288 - compact(HEADER, CLAIMS).length)}`],
  ])('reads %s', (_name, text) => {
    expect(ClientAssertion.parse(text)).toMatchObject({ ok: true });
  });

  it.each([
    ['more values than may be', compact(HEADER, { ...CLAIMS, x: elements(996) })],
    ['more fields than may be', compact(HEADER, { ...CLAIMS, ...Object.fromEntries(elements(997).entries()) })],
    ['more empty objects than may be', compact(HEADER, { ...CLAIMS, x: elements(498).map(() => ({})) })],
    ['claims that are nested more deeply', compact(HEADER, { ...CLAIMS, x: nested(16) })],
    ['a header that is nested more deeply', compact({ ...HEADER, x: nested(16) }, CLAIMS)],
    ['a header with more values', compact({ ...HEADER, x: elements(1_000) }, CLAIMS)],
    ['4,000 opening brackets', compact(HEADER, '['.repeat(4_000))],
    ['a text without an end', compact(HEADER, '{"sub":"c","aud":"a","exp":1,"x":"\\')],
    ['two parts', 'a.b'],
    ['four parts', `${compact(HEADER, CLAIMS)}.a`],
    ['a part in front', `a.${compact(HEADER, CLAIMS)}`],
    ['no signature', compact(HEADER, CLAIMS).replace(/c2ln$/, '')],
    ['padding', compact(HEADER, CLAIMS).replace('.', '=.')],
    ['white space', ` ${compact(HEADER, CLAIMS)}`],
    ['a line break at the end', `${compact(HEADER, CLAIMS)}\n`],
    ['more than 12 KiB', compact(HEADER, { ...CLAIMS, x: 'x'.repeat(12_288) })],
    ['a header that is not JSON', compact('{', CLAIMS)],
    ['a header that is an array', compact([HEADER], CLAIMS)],
    ['claims that are null', compact(HEADER, null)],
    ['claims that are not UTF-8', `${encode(HEADER)}.${latin1('{"sub":"c","aud":"a","exp":1,"x":"\xff"}')}.c2ln`],
    ['a byte order mark', compact(HEADER, `\ufeff${JSON.stringify(CLAIMS)}`)],
    ['a repeated claim', compact(HEADER, '{"sub":"c","sub":"c","aud":"a","exp":1}')],
    ['a repeated field of a claim', compact(HEADER, '{"sub":"c","aud":"a","exp":1,"x":[{"y":1,"y":2}]}')],
    ['a repeated field of the header', compact('{"alg":"ES256","alg":"none"}', CLAIMS)],
    ['no algorithm', compact({}, CLAIMS)],
    ['an algorithm that is no text', compact({ alg: 1 }, CLAIMS)],
    ['a kid that is no text', compact({ ...HEADER, kid: ['k'] }, CLAIMS)],
    ['a type that is no text', compact({ ...HEADER, typ: 1 }, CLAIMS)],
    ['critical extensions', compact({ ...HEADER, crit: ['exp'], exp: 1 }, CLAIMS)],
    ['an unencoded payload', compact({ ...HEADER, b64: false }, CLAIMS)],
    ['no subject', compact(HEADER, { ...CLAIMS, sub: undefined })],
    ['an empty subject', compact(HEADER, { ...CLAIMS, sub: '' })],
    ['a subject of 2,001 characters', compact(HEADER, { ...CLAIMS, sub: 's'.repeat(2_001) })],
    ['an issuer that is an object', compact(HEADER, { ...CLAIMS, iss: { toString: 'client' } })],
    ['no audience', compact(HEADER, { ...CLAIMS, aud: undefined })],
    ['an empty list of audiences', compact(HEADER, { ...CLAIMS, aud: [] })],
    ['an audience that is no text', compact(HEADER, { ...CLAIMS, aud: ['a', 1] })],
    ['an audience in an inner list', compact(HEADER, { ...CLAIMS, aud: [['a']] })],
    ['no expiry', compact(HEADER, { ...CLAIMS, exp: undefined })],
    ['an expiry as a text', compact(HEADER, { ...CLAIMS, exp: '1800000000' })],
    ['an infinite expiry', `${encode(HEADER)}.${encode('{"sub":"c","aud":"a","exp":1e999}')}.c2ln`],
    ['a negative time', compact(HEADER, { ...CLAIMS, nbf: -1 })],
    ['a jti that is a number', compact(HEADER, { ...CLAIMS, jti: 1 })],
  ])('refuses %s', (_name, text) => {
    expect(ClientAssertion.parse(text)).toEqual({ ok: false, problem: expect.any(String) });
  });

  it.each([
    ['it is longer than 12 KiB', compact(HEADER, { ...CLAIMS, x: 'x'.repeat(12_288) })],
    ['it begins or ends with a space or a line break', `${compact(HEADER, CLAIMS)}\r\n`],
    ['it is no signed JWT in its compact form', compact(HEADER, CLAIMS).replace(/c2ln$/, '')],
    [/^its header is no JSON object/, compact('{', CLAIMS)],
    [/^its header is no JSON object/, compact(7, CLAIMS)],
    [/^its second part is no JSON object .* that has each field once$/, compact(HEADER, '{"sub":"c","sub":"c"}')],
    ['crit and b64 are not understood', compact({ ...HEADER, crit: ['exp'] }, CLAIMS)],
    ['alg is missing', compact({}, CLAIMS)],
    ['kid is no text of 1 to 2000 characters', compact({ ...HEADER, kid: ['my-secret'] }, CLAIMS)],
    ['sub is missing', compact(HEADER, { ...CLAIMS, sub: undefined })],
    ['aud is no text of 1 to 2000 characters', compact(HEADER, { ...CLAIMS, aud: [] })],
    ['exp is missing', compact(HEADER, { ...CLAIMS, exp: undefined })],
    ['iat is no number of seconds since the epoch', compact(HEADER, { ...CLAIMS, iat: 'my-secret' })],
  ])('names the one fault, without a value: %s', (fault, text) => {
    expect(ClientAssertion.parse(text)).toEqual({ ok: false, problem: expect.stringMatching(fault) });
  });

  it('keeps no claim that it does not know while it waits, and reads all of them again', () => {
    const assertion = ClientAssertion.parse(compact(HEADER, { ...CLAIMS, x: { y: 1 } }));
    if (!assertion.ok) throw new Error(assertion.problem);
    expect(Object.keys(assertion.value)).toEqual(['header', 'claims']);
    expect(assertion.value.readPayload()).toEqual({ ...CLAIMS, x: { y: 1 } });
    expect(assertion.value.readPayload()).not.toBe(assertion.value.readPayload());
  });

  it('counts fields as JSON.parse does, whatever the claims are', () => {
    const claims = fc.dictionary(anyText(), fc.jsonValue({ maxDepth: 5 }));
    fc.assert(
      fc.property(claims, (more) => {
        const whole = { ...more, ...CLAIMS };
        const text = JSON.stringify(whole);
        const isLarge = text.length > 5_000 || text.split(/[,{[]/).length > 900;
        if (!isLarge) expect(payloadOf(compact(HEADER, text))).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('never throws, whatever the text is', () => {
    const part = fc.oneof(fc.json().map(encode), fc.string().map(encode), anyText());
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        ClientAssertion.parse(parts.join('.'));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('an assertion that a client has signed', () => {
  const NOW = 1_800_000_000;
  const CLAIMS = { iss: 'client', sub: 'client', aud: 'https://auth.example', exp: NOW + 300, jti: 'one' };
  const POLICY = { audiences: ['https://auth.example', 'https://own.example/'], maxLifetimeSeconds: 300 };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  function refusalOf(use: 'client' | 'grant', claims: object, header: object = {}, clientId?: string) {
    const text = `${encode({ alg: 'ES256', ...header })}.${encode({ ...CLAIMS, ...claims })}.c2ln`;
    const assertion = ClientAssertion.parse(text);
    if (!assertion.ok) throw new Error(assertion.problem);
    return refusalOfKeyAssertion(assertion.value, { ...POLICY, use, now: NOW, clientId });
  }

  it.each([
    ['the issuer as its audience', {}],
    ['the issuer with a slash', { aud: ['https://auth.example/'] }],
    ['another audience of the service without its slash', { aud: 'https://own.example' }],
    ['a jti of 255 characters', { jti: 'x'.repeat(255) }],
    ['a clock that is half a minute slow', { exp: NOW - 29 }],
    ['a clock that is half a minute fast', { exp: NOW + 330, iat: NOW + 30, nbf: NOW + 30 }],
  ])("is accepted, as a client's and as a grant, with %s", (_name, claims) => {
    expect([refusalOf('client', claims), refusalOf('grant', claims)]).toEqual([undefined, undefined]);
  });

  it.each([
    ['assertion_issuer_untrusted', { iss: 'another' }],
    ['assertion_malformed', { iss: 'a\nb', sub: 'a\nb' }],
    ['assertion_malformed', { jti: 'x'.repeat(256) }],
    ['assertion_audience_wrong', { aud: 'https://auth.example/oauth2/token' }],
    ['assertion_audience_wrong', { aud: ['https://auth.example', 'https://other.example'] }],
    ['assertion_audience_wrong', { aud: 'https://auth.example//' }],
    ['assertion_expired', { exp: NOW - 30 }],
    ['assertion_lifetime_too_long', { exp: NOW + 331 }],
    ['assertion_not_yet_valid', { nbf: NOW + 31 }],
    ['assertion_not_yet_valid', { iat: NOW + 31 }],
  ])("is refused, as a client's and as a grant: %s %j", (reason, claims) => {
    expect([refusalOf('client', claims), refusalOf('grant', claims)]).toEqual([reason, reason]);
  });

  it('may be without a jti, and may not name itself the authentication of a client, as a grant', () => {
    const [without, typ] = [{ jti: undefined }, { typ: 'client-authentication+jwt' }];
    expect([refusalOf('client', without), refusalOf('grant', without)]).toEqual(['assertion_malformed', undefined]);
    expect([refusalOf('client', {}, typ), refusalOf('grant', {}, typ)]).toEqual([undefined, 'assertion_type_refused']);
    for (const use of ['client', 'grant'] as const) {
      expect(refusalOf(use, {}, { typ: 'application/JWT' })).toBeUndefined();
      expect(refusalOf(use, {}, { typ: 'at+jwt' })).toBe('assertion_type_refused');
      expect(refusalOf(use, {}, { alg: 'HS256' })).toBe('assertion_algorithm_refused');
    }
  });

  it('must not contradict the client_id of the request', () => {
    expect(refusalOf('client', {}, {}, 'client')).toBeUndefined();
    expect(refusalOf('client', {}, {}, 'another')).toBe('assertion_client_contradictory');
  });
});

describe('readPublicJwk', () => {
  const jwkOf = (pair: { publicKey: { export(options: { format: 'jwk' }): object } }) =>
    pair.publicKey.export({ format: 'jwk' });
  const rsa = (modulusLength: number) => jwkOf(generateKeyPairSync('rsa', { modulusLength }));
  const ec = (namedCurve: string) => jwkOf(generateKeyPairSync('ec', { namedCurve }));

  const RSA = rsa(2048) as { readonly n: string };
  const P256 = ec('P-256');
  const ED25519 = jwkOf(generateKeyPairSync('ed25519'));

  it.each([
    ['RSA', RSA, ['RS256', 'PS256']],
    ['P-256', P256, ['ES256']],
    ['P-384', ec('P-384'), ['ES384']],
    ['Ed25519', ED25519, ['EdDSA']],
  ])('reads a key of %s, for its algorithms', (_name, jwk, algorithms) => {
    const read = readPublicJwk({ ...jwk, use: 'sig', key_ops: ['verify'], x5t: 'ignored' });
    expect(read).toStrictEqual({ ok: true, value: { ...jwk } });
    expect(read.ok && algorithmsOf(read.value)).toEqual(algorithms);
  });

  it('keeps kid and alg, which is then the only algorithm', () => {
    const read = readPublicJwk({ ...RSA, kid: 'one', alg: 'PS256' });
    expect(read).toEqual({ ok: true, value: { ...RSA, kid: 'one', alg: 'PS256' } });
    expect(read.ok && algorithmsOf(read.value)).toEqual(['PS256']);
  });

  it('knows EdDSA by the name of RFC 9864 too', () => {
    expect(readPublicJwk({ ...ED25519, alg: 'Ed25519' })).toEqual({ ok: true, value: { ...ED25519, alg: 'EdDSA' } });
  });

  it.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])(
    'refuses a key with the field %s, which is not public',
    (name) => {
      expect(readPublicJwk({ ...RSA, [name]: 'AAAA' })).toEqual({
        ok: false,
        problem: 'contains a private or a symmetric key: register only the public key',
      });
    },
  );

  it('accepts a kid of 255 characters', () => {
    expect(readPublicJwk({ ...P256, kid: 'x'.repeat(255) }).ok).toBe(true);
  });

  it.each([
    ['no object', 'key', 'must be an object'],
    ['a private key', { ...P256, d: 'AAAA' }, /private or a symmetric key/],
    ['a symmetric key', { kty: 'oct', k: 'AAAA' }, /private or a symmetric key/],
    ['another type', { kty: 'oct' }, /must be an RSA, P-256, P-384 or Ed25519 key/],
    ['another curve', { ...P256, crv: 'secp256k1' }, /must be an RSA/],
    ['X25519, which signs nothing', { ...ED25519, crv: 'X25519' }, /must be an RSA/],
    ['the curve of another type', { ...P256, crv: 'Ed25519' }, /must be an RSA/],
    ['a modulus of zeros', { ...RSA, n: Buffer.alloc(257).toString('base64url') }, /2048 to 4096 bits/],
    ['RSA of 1024 bits', rsa(1024), /2048 to 4096 bits/],
    ['RSA of 2047 bits', { ...RSA, n: Buffer.alloc(256, 0x7f).toString('base64url') }, /2048 to 4096 bits/],
    [
      'RSA of 4097 bits',
      { ...RSA, n: Buffer.from([1, ...Buffer.alloc(512, 1)]).toString('base64url') },
      /2048 to 4096/,
    ],
    ['an exponent of 1', { ...RSA, e: 'AQ' }, /e must be AQAB/],
    ['an even exponent', { ...RSA, e: 'AQAC' }, /e must be AQAB/],
    ['an exponent of 3', { ...RSA, e: 'Aw' }, /e must be AQAB/],
    ['65537 with a zero in front', { ...RSA, e: 'AAEAAQ' }, /e must be AQAB/],
    ['no exponent', { ...RSA, e: undefined }, /e must be AQAB/],
    ['a modulus that is no base64url', { ...RSA, n: `${RSA.n.slice(0, -1)}=` }, /must be base64url/],
    ['a modulus with padding in front', { ...RSA, n: `=${RSA.n}` }, /must be base64url/],
    ['a modulus of an impossible length', { ...RSA, n: `${RSA.n}AAA` }, /must be base64url/],
    [
      'RSA of 2047 bits behind zeros',
      { ...RSA, n: Buffer.concat([Buffer.alloc(3), Buffer.alloc(256, 0x7f)]).toString('base64url') },
      /2048 to 4096 bits/,
    ],
    ['a curve of another type', { ...P256, kty: 'OKP' }, /must be an RSA/],
    ['a coordinate that is no base64url', { ...P256, x: '*' }, /base64url of 32 bytes/],
    ['a coordinate of the wrong length', { ...P256, x: 'AAAA' }, /base64url of 32 bytes/],
    ['a coordinate that is missing', { ...ED25519, x: undefined }, /base64url of 32 bytes/],
    ['a kid that is no text', { ...P256, kid: 5 }, /kid must be/],
    ['an empty kid', { ...P256, kid: '' }, /kid must be/],
    ['a kid of 256 characters', { ...P256, kid: 'x'.repeat(256) }, /kid must be/],
    ['a key for encryption', { ...P256, use: 'enc' }, /use must be sig/],
    ['a key for other operations', { ...P256, key_ops: ['deriveKey'] }, /key_ops must include verify/],
    ['an algorithm of another key', { ...P256, alg: 'ES384' }, /alg must be ES256/],
    ['a symmetric algorithm', { ...RSA, alg: 'HS256' }, /alg must be RS256 or PS256/],
  ])('refuses %s, and quotes nothing of it', (_name, jwk, rule) => {
    const read = readPublicJwk(jwk);
    expect(read).toEqual({ ok: false, problem: expect.stringMatching(rule) });
  });

  it('accepts RSA of 4096 bits', () => {
    expect(readPublicJwk(rsa(4096)).ok).toBe(true);
  }, 60_000);
});

describe('paths of claims', () => {
  const CLAIMS = JSON.parse(`{
  "repository_id": "74", "runner_id": 12, "ref_protected": true, "nothing": null, "list": ["74"], "": "empty",
  "a/b": "slash", "a~b": "tilde", "~1": "not a slash", "__proto__": "own",
  "kubernetes.io": { "namespace": "shop", "serviceaccount": { "name": "billing" } },
  "https://sts.amazonaws.com/": { "aws_account": "123456789012" }
}`);

  describe('claim paths', () => {
    test.each([
      ['/repository_id', '74'],
      ['/kubernetes.io/namespace', 'shop'],
      ['/kubernetes.io/serviceaccount/name', 'billing'],
      ['/https:~1~1sts.amazonaws.com~1/aws_account', '123456789012'],
      ['/a~1b', 'slash'],
      ['/a~0b', 'tilde'],
      ['/~01', 'not a slash'],
      ['/', 'empty'],
      ['/__proto__', 'own'],
    ])('%s leads to its claim', (path, value) => {
      expect(isClaimPath(path)).toBe(true);
      expect(claimAt(CLAIMS, path)).toBe(value);
    });

    test('a path may have 512 characters', () => {
      expect(isClaimPath(`/${'a'.repeat(511)}`)).toBe(true);
    });

    test.each([
      '/kubernetes/io',
      '/toString',
      '/constructor/name',
      '/list/0',
      '/list/length',
      '/repository_id/0',
      '/nothing/x',
      '/kubernetes.io/serviceaccount/name/x',
      '/Repository_id',
      '/repository_id/',
    ])('%s leads to nothing', (path) => {
      expect(isClaimPath(path)).toBe(true);
      expect(claimAt(CLAIMS, path)).toBeUndefined();
    });

    test.each(['', 'repository_id', 'kubernetes.io/namespace', '/a~', '/a~2', '#/a', ' /a', `/${'a'.repeat(512)}`])(
      '"%s" is not a claim path',
      (text) => {
        expect(isClaimPath(text)).toBe(false);
      },
    );

    test.each([
      ['a number', { '/runner_id': '12' }],
      ['a boolean', { '/ref_protected': 'true' }],
      ['null', { '/nothing': 'null' }],
      ['a list of the text', { '/list': '74' }],
      ['an object', { '/kubernetes.io': '[object Object]' }],
      ['a longer text', { '/repository_id': '7' }],
      ['a shorter text', { '/repository_id': '740' }],
      ['no claim', { '/environment': 'undefined' }],
    ])('%s does not meet the condition of a text', (_what, conditions) => {
      expect(unmetConditions(conditions, CLAIMS)).toEqual(Object.keys(conditions));
    });

    test('names every condition that is not met', () => {
      const conditions = { '/repository_id': '74', '/ref': 'main', '/kubernetes.io/namespace': 'other' };
      expect(unmetConditions(conditions, CLAIMS)).toEqual(['/ref', '/kubernetes.io/namespace']);
      expect(unmetConditions({}, CLAIMS)).toEqual([]);
    });
  });
});

describe('SPIFFE ids', () => {
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
});

describe('trusted issuers', () => {
  const POD = { '/kubernetes.io/namespace': 'shop', '/kubernetes.io/serviceaccount/name': 'billing' };
  const IDS = { '/repository_id': '456789', '/repository_owner_id': '123456' };
  const PROJECT = { '/project_id': '22', '/namespace_id': '7' };

  function issuerOf(issuer: string, preset: IssuerPreset = 'none'): TrustedIssuer {
    return { issuer, audience: 'https://auth.example', algorithms: ['RS256'], preset };
  }

  describe('a rule for a platform', () => {
    const issuers = new TrustedIssuers([
      issuerOf('k8s', 'kubernetes'),
      issuerOf('github', 'github-actions'),
      issuerOf('gitlab', 'gitlab'),
      issuerOf('aws', 'aws'),
      issuerOf('spiffe://example.org', 'spiffe'),
      issuerOf('spiffe://undefined', 'spiffe'),
      issuerOf('https://spire.example', 'spiffe'),
      issuerOf('other'),
    ]);
    const problemOf = (issuer: string, subject: string, claims: FederatedSubject['claims'] = {}) =>
      issuers.problemOf({ issuer, subject, claims });

    test.each([
      ['a service account', 'k8s', 'system:serviceaccount:shop:billing', POD],
      [
        'a service account of the namespace default',
        'k8s',
        'system:serviceaccount:default:billing',
        { ...POD, '/kubernetes.io/namespace': 'default' },
      ],
      [
        'a service account and a namespace of one letter',
        'k8s',
        'system:serviceaccount:a:b',
        { '/kubernetes.io/namespace': 'a', '/kubernetes.io/serviceaccount/name': 'b' },
      ],
      [
        'a service account by its uid too',
        'k8s',
        'system:serviceaccount:shop:billing',
        { ...POD, '/kubernetes.io/serviceaccount/uid': 'b1' },
      ],
      ['a branch of a repository by name', 'github', 'repo:octo-org/octo-repo:ref:refs/heads/main', IDS],
      ['a branch of a repository by id', 'github', 'repo:octo-org@123456/octo-repo@456789:ref:refs/heads/main', IDS],
      [
        'an environment',
        'github',
        'repo:octo-org@123456/octo-repo@456789:environment:Prod: EU',
        { ...IDS, '/ref': 'refs/heads/main' },
      ],
      ['a GitLab project', 'gitlab', 'project_path:group/project:ref_type:branch:ref:main', PROJECT],
      ['an IAM role', 'aws', 'arn:aws:iam::123456789012:role/DataProcessingRole', {}],
      ['an IAM role with a path', 'aws', 'arn:aws-us-gov:iam::123456789012:role/a/b/Role+=,.@-_', {}],
      ['a SPIFFE workload', 'spiffe://example.org', 'spiffe://example.org/ns/shop/sa/billing', {}],
      ['a SPIFFE workload of an issuer with a URL', 'https://spire.example', 'spiffe://example.org/billing', {}],
      ['any subject of another issuer', 'other', '*', {}],
      ['any claim of another issuer', 'other', 'x', { '/a': '*' }],
    ])('accepts %s', (_what, issuer, subject, claims) => {
      expect(problemOf(issuer, subject, claims)).toBeUndefined();
    });

    test.each([
      ['an issuer that is not trusted', 'https://evil.example', 'x', {}, /issuer/],
      ['an issuer in another case', 'K8S', 'system:serviceaccount:shop:billing', POD, /issuer/],
      [
        'the service account default',
        'k8s',
        'system:serviceaccount:shop:default',
        { ...POD, '/kubernetes.io/serviceaccount/name': 'default' },
        /default/,
      ],
      ['no claims of a pod', 'k8s', 'system:serviceaccount:shop:billing', {}, /namespace/],
      [
        'the namespace of another pod',
        'k8s',
        'system:serviceaccount:shop:billing',
        { ...POD, '/kubernetes.io/namespace': 'shop2' },
        /as in the subject/,
      ],
      [
        'the service account of another pod',
        'k8s',
        'system:serviceaccount:shop:billing',
        { ...POD, '/kubernetes.io/serviceaccount/name': 'billing2' },
        /as in the subject/,
      ],
      ['text before a service account', 'k8s', 'x:system:serviceaccount:shop:billing', POD, /subject must be/],
      ['text behind a service account', 'k8s', 'system:serviceaccount:shop:billing:x', POD, /subject must be/],
      ['neither a service account nor claims', 'k8s', 'kubernetes-admin', {}, /subject/],
      ['no service account in the subject', 'k8s', 'system:serviceaccount:shop:', POD, /subject/],
      ['a wildcard for pods', 'k8s', 'system:serviceaccount:shop:*', POD, /wildcards/],
      ['a group of service accounts', 'k8s', 'system:serviceaccounts:shop', POD, /subject/],
      ['a user of Kubernetes', 'k8s', 'kubernetes-admin', POD, /subject/],
      [
        'no id of the owner',
        'github',
        'repo:o/r:ref:refs/heads/main',
        { '/repository_id': '1' },
        /repository_owner_id/,
      ],
      [
        'no id of the repository',
        'github',
        'repo:o/r:ref:refs/heads/main',
        { '/repository_owner_id': '1' },
        /repository_id/,
      ],
      ['text behind an id', 'github', 'repo:o/r:ref:x', { ...IDS, '/repository_id': '1x' }, /with a number/],
      ['text before an id', 'github', 'repo:o/r:ref:x', { ...IDS, '/repository_id': 'x1' }, /with a number/],
      ['an empty id', 'github', 'repo:o/r:ref:refs/heads/main', { ...IDS, '/repository_id': '' }, /repository_id/],
      ['other ids in the subject', 'github', 'repo:o@123456/r@1:ref:refs/heads/main', IDS, /same ids/],
      ['only one id in the subject', 'github', 'repo:o@123456/r:ref:refs/heads/main', IDS, /same ids/],
      ['another owner in the subject', 'github', 'repo:o@1/r@456789:ref:refs/heads/main', IDS, /same ids/],
      ['only the id of a repository in the subject', 'github', 'repo:o/r@1:ref:refs/heads/main', IDS, /same ids/],
      ['text before a repository', 'github', 'x:repo:o/r:ref:refs/heads/main', IDS, /subject/],
      ['a second line', 'github', 'repo:o/r:ref:refs/heads/main\nx', IDS, /subject/],
      ['all branches', 'github', 'repo:o/r:*', IDS, /wildcards/],
      ['all branches in a claim', 'github', 'repo:o/r:ref:x', { ...IDS, '/ref': 'refs/heads/*' }, /claims .*wildcards/],
      ['no branch', 'github', 'repo:o/r', IDS, /subject/],
      ['no branch after the colon', 'github', 'repo:o/r:', IDS, /subject/],
      ['a subject without a repository', 'github', 'repository_owner:o', IDS, /subject/],
      [
        'no id of the project',
        'gitlab',
        'project_path:g/p:ref_type:branch:ref:main',
        { '/namespace_id': '7' },
        /^claims must have \/project_id and \/namespace_id, each with a number as text$/,
      ],
      ['no project', 'gitlab', 'user:g', PROJECT, /project_path/],
      ['text before a role', 'aws', 'x:arn:aws:iam::123456789012:role/Role', {}, /role/],
      ['text behind a role', 'aws', 'arn:aws:iam::123456789012:role/Role x', {}, /role/],
      ['an IAM user', 'aws', 'arn:aws:iam::123456789012:user/alice', {}, /role/],
      ['the root of an account', 'aws', 'arn:aws:iam::123456789012:root', {}, /role/],
      ['a session of a role', 'aws', 'arn:aws:sts::123456789012:assumed-role/Role/session', {}, /role/],
      ['all roles', 'aws', 'arn:aws:iam::123456789012:role/*', {}, /wildcards/],
      [
        'a workload of another trust domain',
        'spiffe://example.org',
        'spiffe://example.com/billing',
        {},
        /trust domain/,
      ],
      ['a trust domain without a workload', 'spiffe://example.org', 'spiffe://example.org', {}, /workload/],
      ['no SPIFFE ID', 'spiffe://undefined', 'billing', {}, /SPIFFE ID/],
      ['no SPIFFE ID of an issuer with a URL', 'https://spire.example', 'billing', {}, /SPIFFE ID/],
    ])('refuses %s', (_what, issuer, subject, claims, problem) => {
      expect(problemOf(issuer, subject, claims as FederatedSubject['claims'])).toMatch(problem);
    });

    test.each([
      ['https://token.actions.githubusercontent.com', 'github-actions'],
      ['https://token.actions.githubusercontent.com/octo-org', 'github-actions'],
      ['https://token.actions.githubusercontent.com.evil.example', 'none'],
      ['https://evil.example/https://token.actions.githubusercontent.com', 'none'],
      ['https://gitlab.com', 'gitlab'],
      ['https://a103a2cc-b461-473d-84fe-6c4f6d45af88.tokens.sts.global.api.aws', 'aws'],
      ['spiffe://example.org', 'spiffe'],
      ['https://gitlab.example', 'none'],
      ['https://evil.example/.tokens.sts.global.api.aws', 'none'],
      ['https://evil.example/https://a.tokens.sts.global.api.aws', 'none'],
      ['https://a.tokens.sts.global.api.aws.evil.example', 'none'],
    ])('%s has the preset %s unless told otherwise', (issuer, preset) => {
      expect(presetOf(issuer)).toBe(preset);
    });
  });

  describe('the issuer of an assertion', () => {
    const issuers = new TrustedIssuers([
      issuerOf('https://a.example'),
      issuerOf('spiffe://example.org', 'spiffe'),
      issuerOf('spiffe://undefined', 'spiffe'),
    ]);
    const find = (type: 'jwt-bearer' | 'jwt-spiffe', sub: string, iss?: string) =>
      issuers.find(type, { sub, iss })?.issuer;
    const ID = 'spiffe://example.org/billing';

    test('is the one that it names', () => {
      expect(find('jwt-bearer', 'x', 'https://a.example')).toBe('https://a.example');
      expect(find('jwt-bearer', ID, 'https://a.example')).toBe('https://a.example');
    });

    test('is the trust domain of a SPIFFE ID', () => {
      expect(find('jwt-bearer', ID)).toBe('spiffe://example.org');
      expect(find('jwt-spiffe', ID)).toBe('spiffe://example.org');
      expect(find('jwt-bearer', ID, 'https://spire.example')).toBe('spiffe://example.org');
      expect(find('jwt-spiffe', ID, 'https://a.example')).toBe('spiffe://example.org');
      expect(find('jwt-bearer', ID, 'spiffe://example.org')).toBe('spiffe://example.org');
    });

    test.each([
      ['an issuer that is not trusted', 'x', 'https://b.example'],
      ['an issuer with a slash at the end', 'x', 'https://a.example/'],
      ['an issuer in another case', 'x', 'https://A.example'],
      ['a part of an issuer', 'x', 'https://a.exampl'],
      ['no issuer', 'x', undefined],
      ['a trust domain that is not trusted', 'spiffe://example.com/billing', undefined],
      ['a trust domain as the issuer of another subject', 'spiffe://example.com/billing', 'spiffe://example.org'],
      ['a trust domain as the issuer of no SPIFFE ID', 'x', 'spiffe://example.org'],
      ['the name of a field of every object', 'x', '__proto__'],
    ])('is not found with %s', (_what, sub, iss) => {
      expect(find('jwt-bearer', sub, iss)).toBeUndefined();
    });

    test('is never one with a URL where the type is jwt-spiffe', () => {
      expect(find('jwt-spiffe', 'x', 'https://a.example')).toBeUndefined();
    });
  });
});
