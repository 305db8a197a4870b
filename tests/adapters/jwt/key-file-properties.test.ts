import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isUsableKey } from '../../../adapters/jwt/algorithms.ts';
import { type KeyFile, readKeyFile } from '../../../adapters/jwt/read-key-file.ts';
import type { Result } from '../../../domain/result.ts';
import { anyText } from '../../support/any-text.ts';

const { privateKey: KEY } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const OTHER = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
const PEM = KEY.export({ type: 'pkcs8', format: 'pem' }).toString();
const DER = KEY.export({ type: 'pkcs8', format: 'der' });
const JWK = KEY.export({ format: 'jwk' });
const FIELDS = ['kty', 'n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi', 'kid', 'use', 'alg', 'key_ops', 'oth', 'ext'];
const RUNS = { numRuns: 150 };

/** What is accepted is a key that can be trusted: its public half is usable, and verifies what its private half signs. */
function expectSound(read: Result<KeyFile, readonly string[]>): void {
  if (!read.ok) {
    expect(read.problem.length).toBeGreaterThan(0);
    for (const problem of read.problem) expect(problem).toMatch(/^must (be|have) [\w ,#'.()-]+$/);
    return;
  }
  const { key, kid } = read.value;
  const publicKey = createPublicKey(key);
  const handle = publicKey.toCryptoKey({ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, true, ['verify']);
  expect(isUsableKey(handle)).toBe(true);
  const data = Buffer.from('data');
  expect(verify('sha256', data, publicKey, sign('sha256', data, key))).toBe(true);
  expect(kid === undefined || (kid.length > 0 && [...kid].length <= 255)).toBe(true);
}

/** The text with some characters replaced, removed or repeated. */
function damaged(text: string) {
  const edit = fc.record({
    at: fc.nat(text.length - 1),
    length: fc.nat(3),
    by: fc.oneof(
      fc.constantFrom('', '\0', '\n', 'A', '=', '"', '-----BEGIN PRIVATE KEY-----'),
      fc.string({ maxLength: 3 }),
    ),
  });
  return fc
    .array(edit, { minLength: 1, maxLength: 3 })
    .map((edits) =>
      edits.reduce((before, { at, length, by }) => before.slice(0, at) + by + before.slice(at + length), text),
    );
}

const base64url = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('base64url'));
const field = fc.oneof(
  base64url,
  fc.constantFrom('AQAB', 'AQ', 'Ag', 'Aw', 'AAEAAQ', '', 'RSA', 'EC', 'sig', 'enc', 'RS256', 'PS256'),
  fc.constantFrom(...[OTHER.n, OTHER.d, OTHER.p, OTHER.q, JWK.q, JWK.p].map(String)),
  fc.jsonValue({ maxDepth: 1 }),
);

describe('readKeyFile, for every file', () => {
  it('never throws, quotes nothing of the file, and accepts no key that cannot sign: a damaged PEM', () => {
    fc.assert(
      fc.property(damaged(PEM), (text) => expectSound(readKeyFile(text, 'RS256'))),
      RUNS,
    );
  });

  it('… a PEM whose bytes are changed within', () => {
    const bytes = fc.array(fc.tuple(fc.nat(DER.length - 1), fc.integer({ min: 1, max: 255 })), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(bytes, (changes) => {
        const der = Buffer.from(DER);
        for (const [at, change] of changes) der[at] = (der[at] ?? 0) ^ change;
        const lines = der.toString('base64').replace(/.{64}/g, '$&\n');
        expectSound(readKeyFile(`-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`, 'RS256'));
      }),
      RUNS,
    );
  });

  it('… a damaged JWK', () => {
    fc.assert(
      fc.property(damaged(JSON.stringify(JWK)), (text) => expectSound(readKeyFile(text, 'RS256'))),
      RUNS,
    );
  });

  it('… a JWK with other fields', () => {
    const changes = fc.dictionary(fc.constantFrom(...FIELDS), field, { minKeys: 1, maxKeys: 4 });
    fc.assert(
      fc.property(changes, fc.constantFrom({}, JWK, OTHER), (more, from) => {
        expectSound(readKeyFile(JSON.stringify({ ...from, ...more }), 'RS256'));
      }),
      { numRuns: 400 },
    );
  });

  it('… any JSON, and any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), anyText()), (text) => {
        expect(readKeyFile(text, 'RS256').ok).toBe(false);
        expectSound(readKeyFile(text, 'RS256'));
      }),
      RUNS,
    );
  });
});
