import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ClientAssertion } from '../../domain/client-assertion.ts';

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

describe('ClientAssertion', () => {
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
    ['more members than may be', compact(HEADER, { ...CLAIMS, ...Object.fromEntries(elements(997).entries()) })],
    ['more empty objects than may be', compact(HEADER, { ...CLAIMS, x: elements(498).map(() => ({})) })],
    ['claims that are nested more deeply', compact(HEADER, { ...CLAIMS, x: nested(16) })],
    ['a header that is nested more deeply', compact({ ...HEADER, x: nested(16) }, CLAIMS)],
    ['a header with more values', compact({ ...HEADER, x: elements(1_000) }, CLAIMS)],
    ['4,000 opening brackets', compact(HEADER, '['.repeat(4_000))],
    ['a text without an end', compact(HEADER, '{"sub":"c","aud":"a","exp":1,"x":"\\')],
    ['two parts', 'a.b'],
    ['four parts', `${compact(HEADER, CLAIMS)}.a`],
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
    ['a repeated member of a claim', compact(HEADER, '{"sub":"c","aud":"a","exp":1,"x":[{"y":1,"y":2}]}')],
    ['a repeated member of the header', compact('{"alg":"ES256","alg":"none"}', CLAIMS)],
    ['no algorithm', compact({}, CLAIMS)],
    ['an algorithm that is no text', compact({ alg: 1 }, CLAIMS)],
    ['a kid that is no text', compact({ ...HEADER, kid: ['k'] }, CLAIMS)],
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
    expect(ClientAssertion.parse(text)).toEqual({ ok: false, problem: 'assertion_malformed' });
  });

  it('keeps no claim that it does not know while it waits, and reads all of them again', () => {
    const assertion = ClientAssertion.parse(compact(HEADER, { ...CLAIMS, x: { y: 1 } }));
    if (!assertion.ok) throw new Error(assertion.problem);
    expect(Object.keys(assertion.value)).toEqual(['header', 'claims']);
    expect(assertion.value.readPayload()).toEqual({ ...CLAIMS, x: { y: 1 } });
    expect(assertion.value.readPayload()).not.toBe(assertion.value.readPayload());
  });

  it('counts members as JSON.parse does, whatever the claims are', () => {
    const claims = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 5 }));
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
    const part = fc.oneof(fc.json().map(encode), fc.string().map(encode), fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        ClientAssertion.parse(parts.join('.'));
      }),
      { numRuns: 1_000 },
    );
  });
});
