import type { KeyObject } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { joseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { TokenVerifier } from '../../../application/ports/token-verifier.ts';
import { FORGED_TOKENS, NO_BEARER_TOKENS } from '../../hostile/forged-tokens.ts';
import { encode, TokenForge } from '../../hostile/token-forge.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { CLAIMS } from '../../support/claims.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
const MALFORMED = { ok: false, problem: 'token_malformed' };

let verifier: TokenVerifier;
let make: TokenForge;

beforeAll(async () => {
  const made = new Map<string, KeyObject>();
  const privateKeys = { add: (kid: string, key: KeyObject) => void made.set(kid, key) };
  const factory = createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, privateKeys });
  verifier = joseTokenVerifier(await freshKeyRing({ factory }));
  for (const [kid, key] of made) make = new TokenForge(key, kid, CLAIMS.iss);
});

it('accepts the token that every forgery starts from', async () => {
  const claims = make.claims();
  expect(await verifier.verify(make.token(undefined, claims))).toEqual({ ok: true, value: claims });
});

it.each(FORGED_TOKENS)('refuses $name', async ({ forge, reason }) => {
  expect(await verifier.verify(forge(make))).toEqual({ ok: false, problem: reason });
});

it.each(NO_BEARER_TOKENS)('refuses $name, which is no bearer token', async ({ forge }) => {
  expect(await verifier.verify(forge(make))).toEqual(MALFORMED);
});

describe('another spelling of a valid token', () => {
  it.each([1, 2])('refuses changed spare bits in each part, %d bytes past a group of three', async (rest) => {
    const head = encode(lengthened('typ', make.header(), rest));
    const payload = encode(lengthened('sub', CLAIMS, rest));
    const signature = make.byService(`${head}.${payload}`).toString('base64url');
    const tokens = [
      ...respelled(head).map((other) => make.sealed(`${other}.${payload}`)),
      ...respelled(payload).map((other) => make.sealed(`${head}.${other}`)),
      ...respelled(signature).map((other) => `${head}.${payload}.${other}`),
    ];
    expect(tokens.length).toBeGreaterThanOrEqual(9);
    for (const token of tokens) expect(await verifier.verify(token)).toEqual(MALFORMED);
  });

  it.each(['=', '==', ' ', '\t', '\n', '\r\n', '\0', '\u00a0', '\ufeff', '+', '/', '~', '%3D', '%20', 'é', '\u200b'])(
    'refuses %j before, after and inside each part, even if the right key signed that spelling',
    async (odd) => {
      const [head = '', payload = '', signature = ''] = make.token().split('.');
      const spellings = (part: string) => [
        `${odd}${part}`,
        `${part}${odd}`,
        `${part.slice(0, 8)}${odd}${part.slice(8)}`,
      ];
      const tokens = [
        ...spellings(head).map((other) => make.sealed(`${other}.${payload}`)),
        ...spellings(payload).map((other) => make.sealed(`${head}.${other}`)),
        ...spellings(signature).map((other) => `${head}.${payload}.${other}`),
      ];
      for (const token of tokens) expect(await verifier.verify(token)).toEqual(MALFORMED);
    },
  );

  it('refuses base64 of the other alphabet', async () => {
    const [head, payload, signature = ''] = make.token().split('.');
    const other = Buffer.from(signature, 'base64url').toString('base64');
    expect(await verifier.verify(`${head}.${payload}.${other}`)).toEqual(MALFORMED);
  });

  it('refuses a text of a million characters', async () => {
    expect(await verifier.verify('x'.repeat(1_000_000))).toEqual(MALFORMED);
    expect(await verifier.verify('.'.repeat(1_000_000))).toEqual(MALFORMED);
  });
});

describe('a token that was changed', () => {
  it('does not verify after a change of any character', async () => {
    const token = make.token();
    const change = fc.tuple(fc.nat({ max: token.length - 1 }), fc.constantFrom(...ALPHABET, '.', '=', ' '));
    await fc.assert(
      fc.asyncProperty(change, async ([index, character]) => {
        fc.pre(token[index] !== character);
        const changed = `${token.slice(0, index)}${character}${token.slice(index + 1)}`;
        expect((await verifier.verify(changed)).ok).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('does not verify after a flip of any bit of its parts', async () => {
    const parts = make.token().split('.');
    const bit = fc.nat({ max: 2 }).chain((part) =>
      fc.record({
        part: fc.constant(part),
        bit: fc.nat({ max: Buffer.from(parts[part] ?? '', 'base64url').length * 8 - 1 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(bit, async (flip) => {
        const bytes = Buffer.from(parts[flip.part] ?? '', 'base64url');
        bytes.writeUInt8(bytes.readUInt8(flip.bit >> 3) ^ (1 << (flip.bit & 7)), flip.bit >> 3);
        const changed = parts.with(flip.part, bytes.toString('base64url')).join('.');
        expect((await verifier.verify(changed)).ok).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('does not verify if it is cut anywhere', async () => {
    const token = make.token();
    for (let length = 0; length < token.length; length += 1) {
      expect((await verifier.verify(token.slice(0, length))).ok).toBe(false);
      expect((await verifier.verify(token.slice(token.length - length))).ok).toBe(false);
    }
  });
});

/** The JSON of an object whose length, modulo three, is `rest`, with a member of the necessary length. */
function lengthened(member: string, object: object, rest: number): string {
  const texts = ['x', 'xx', 'xxx'].map((value) => JSON.stringify({ ...object, [member]: value }));
  return texts.find((text) => text.length % 3 === rest) ?? '';
}

/** The other spellings of the same bytes: those in which the last character's unused bits are not zero. */
function respelled(part: string): readonly string[] {
  const spellings = { 2: 16, 3: 4 }[part.length % 4] ?? 1;
  const last = ALPHABET.indexOf(part.slice(-1));
  return ALPHABET.slice(last + 1, last + spellings).map((character) => `${part.slice(0, -1)}${character}`);
}
