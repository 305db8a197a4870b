import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CompactEncrypt, calculateJwkThumbprint } from 'jose';
import { JoseKeySealer, secretIdOf } from '../../../adapters/jwt/jose-key-sealer.ts';
import { type KeySecret, readKeySecrets } from '../../../adapters/jwt/key-secrets.ts';
import type { KeyPlan } from '../../../domain/key-chain.ts';
import { failure, success } from '../../../domain/result.ts';
import { TOKEN_ALGORITHMS } from '../../../domain/token-key.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { isSignedBy, PUBLIC_FIELDS } from '../../support/token-algorithms.ts';

const PLAN: KeyPlan = { algorithm: 'ES256', step: 7, signsFrom: 1_800_000_000, verifiesUntil: 1_800_090_000 };
const DATA = 'to be signed';

function secrets(count: number): readonly KeySecret[] {
  const lines = Array.from({ length: count }, () => randomBytes(32).toString('base64'));
  const read = readKeySecrets(lines.join('\n'));
  if (!read.ok) throw new Error('no secrets');
  return read.value;
}

const [CURRENT, OLD, OTHER] = secrets(3) as [KeySecret, KeySecret, KeySecret];
const sealerOf = (...own: readonly KeySecret[]) => new JoseKeySealer(threadsAtOnce, own, () => success(own));

/** A text that somebody with the secret has sealed. */
function sealed(content: object, header: object = {}): Promise<string> {
  const complete = { alg: 'dir', enc: 'A256GCM', kid: CURRENT.id, ver: 1, ...header };
  const encrypting = new CompactEncrypt(new TextEncoder().encode(JSON.stringify(content)));
  return encrypting.setProtectedHeader(complete).encrypt(CURRENT.sealingKey, { crit: { x: true } });
}

let seal: string;
let kid: string;
beforeAll(async () => {
  const made = await sealerOf(CURRENT).make('ES256');
  kid = made.kid;
  seal = await made.seal(PLAN);
});

describe('a sealed key', () => {
  it.each(TOKEN_ALGORITHMS)('for %s comes back with its plan, and signs as before', async (algorithm) => {
    const made = await sealerOf(CURRENT).make(algorithm);
    const opened = await sealerOf(CURRENT).open(await made.seal({ ...PLAN, algorithm }));
    if (opened.state !== 'opened') throw new Error(opened.state);
    expect(opened.plan).toEqual({ ...PLAN, algorithm });
    const { pair } = opened;
    expect([pair.kid, pair.alg]).toEqual([made.kid, algorithm]);
    expect(await calculateJwkThumbprint({ ...pair.jwk })).toBe(made.kid);
    expect(Object.keys(pair.jwk).toSorted()).toEqual(PUBLIC_FIELDS[algorithm]);
    expect(await isSignedBy(algorithm, pair.jwk, await pair.sign(DATA), DATA)).toBe(true);
    expect(await isSignedBy(algorithm, pair.publicKey, await pair.sign(DATA), DATA)).toBe(true);
  });

  it('is sealed with the first secret, and opened with any', async () => {
    const made = await sealerOf(OLD).make('ES256');
    const old = await made.seal(PLAN);
    expect([secretIdOf(old), secretIdOf(seal)]).toEqual([OLD.id, CURRENT.id]);
    const states = [seal, old].map(async (text) => (await sealerOf(CURRENT, OLD).open(text)).state);
    expect(await Promise.all(states)).toEqual(['opened', 'opened']);
  });

  it('looks different each time, and shows nothing of the key', async () => {
    const made = await sealerOf(CURRENT).make('ES256');
    expect(await made.seal(PLAN)).not.toBe(await made.seal(PLAN));
    expect(Buffer.from(seal.split('.')[0] ?? '', 'base64url').toString()).toBe(
      `{"alg":"dir","enc":"A256GCM","kid":"${CURRENT.id}","ver":1}`,
    );
  });

  it('stays closed without its secret, which is named', async () => {
    expect(await sealerOf(OTHER).open(seal)).toEqual({
      state: 'locked',
      reason: `its secret is missing, whose id is ${CURRENT.id}`,
    });
  });

  it('is opened once its secret is in the file again, without a restart', async () => {
    let own = [OTHER];
    const sealer = new JoseKeySealer(threadsAtOnce, own, () => success(own));
    expect((await sealer.open(seal)).state).toBe('locked');
    own = [OTHER, CURRENT];
    expect((await sealer.open(seal)).state).toBe('opened');
  });

  it('stays closed once its secret was taken out of the file, without a restart', async () => {
    let own = [OTHER, CURRENT];
    const sealer = new JoseKeySealer(threadsAtOnce, own, () => success(own));
    expect((await sealer.open(seal)).state).toBe('opened');
    own = [OTHER];
    expect((await sealer.open(seal)).state).toBe('locked');
  });

  it('is sealed with what is first in the file at that moment; and is not, while the file cannot be read', async () => {
    let own = [OLD];
    let isReadable = true;
    const sealer = new JoseKeySealer(threadsAtOnce, own, () =>
      isReadable ? success(own) : failure(['cannot be read']),
    );
    const made = await sealer.make('ES256');
    own = [CURRENT, OLD];
    expect(secretIdOf(await made.seal(PLAN))).toBe(CURRENT.id);
    isReadable = false;
    await expect(made.seal(PLAN)).rejects.toThrow('no key can be sealed: cannot be read');
    expect((await sealer.open(seal)).state).toBe('opened');
  });

  it('of a newer version is left alone', async () => {
    expect((await sealerOf(CURRENT).open(await sealed({}, { ver: 2 }))).state).toBe('locked');
  });

  it('never opens as another key, whichever character is changed', async () => {
    const sealer = sealerOf(CURRENT);
    await fc.assert(
      fc.asyncProperty(fc.nat(seal.length - 1), fc.stringMatching(/^[\w.-]$/), async (position, character) => {
        const opened = await sealer.open(seal.slice(0, position) + character + seal.slice(position + 1));
        if (opened.state === 'opened') expect([opened.pair.kid, opened.plan]).toEqual([kid, PLAN]);
        const isChanged = position < seal.lastIndexOf('.') - 1 && seal[position] !== character;
        // The last character of a part may have spare bits.
        const isLast = seal[position + 1] === '.';
        if (isChanged && !isLast) expect(opened.state).not.toBe('opened');
      }),
    );
  });

  it.each<[string, () => Promise<string> | string]>([
    ['of a token', () => 'eyJhbGciOiJSUzI1NiJ9.e30.AAAA'],
    ['that is empty', () => ''],
    [
      'of another secret with this id',
      () =>
        sealerOf({ ...OTHER, id: CURRENT.id })
          .make('ES256')
          .then((key) => key.seal(PLAN)),
    ],
    [
      'that is compressed',
      () =>
        sealed({}, { zip: 'DEF' }).catch(() =>
          seal.replace(
            /^[^.]+/,
            Buffer.from(`{"alg":"dir","enc":"A256GCM","kid":"${CURRENT.id}","ver":1,"zip":"DEF"}`).toString(
              'base64url',
            ),
          ),
        ),
    ],
    ['with a critical extension', () => sealed({}, { crit: ['x'], x: 1 })],
    ['with a key in its header', () => sealed({}, { jwk: {} })],
    ['with a text in place of the id of a secret', () => sealed({}, { kid: 'x'.repeat(100_000) })],
    ['of nothing', () => sealed({})],
    ['of a list', () => sealed([PLAN])],
    ['without a private key', () => sealed({ ...PLAN, kid })],
    ['of an algorithm that signs no tokens', () => resealed({ algorithm: 'HS256' })],
    ['of a key for another algorithm', () => resealed({ algorithm: 'RS256' })],
    ['with another key id', () => resealed({ kid: 'another' })],
    ['with a fraction of a step', () => resealed({ step: 0.5 })],
    ['with a time that is no number', () => resealed({ verifiesUntil: '1800090000' })],
    ['of a negative time', () => resealed({ signsFrom: -1 })],
  ])('%s is damaged', async (_what, text) => {
    expect(await sealerOf(CURRENT).open(await text())).toEqual({ state: 'damaged' });
  });

  it('opens if all of it is sound', async () => {
    expect((await sealerOf(CURRENT).open(await resealed({}))).state).toBe('opened');
  });

  it('does not print its private half, sealed or opened', async () => {
    const made = await sealerOf(CURRENT).make('ES256');
    const opened = await sealerOf(CURRENT).open(await made.seal(PLAN));
    const printed = inspect([made, opened], { depth: null, showHidden: true }) + JSON.stringify([made, opened]);
    expect(printed).not.toMatch(/"d"|private/i);
  });
});

/** A sound key, sealed with other fields beside it. */
async function resealed(more: object): Promise<string> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const own = { kid: await calculateJwkThumbprint(publicKey), jwk: privateKey.export({ format: 'jwk' }) };
  return sealed({ ...PLAN, ...own, ...more });
}
