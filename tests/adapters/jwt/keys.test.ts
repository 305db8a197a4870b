import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CompactEncrypt, calculateJwkThumbprint } from 'jose';
import { isUsableKey } from '../../../adapters/jwt/algorithms.ts';
import { createKeyFactory, readPublicKey } from '../../../adapters/jwt/create-key-factory.ts';
import { JoseKeySealer, secretIdOf } from '../../../adapters/jwt/jose-key-sealer.ts';
import { type KeySecret, readKeySecrets } from '../../../adapters/jwt/key-secrets.ts';
import { type KeyFile, readKeyFile } from '../../../adapters/jwt/read-key-file.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { KeyFactory } from '../../../application/ports/key-provider.ts';
import type { KeyPlan } from '../../../domain/key-chain.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { TOKEN_ALGORITHMS, type TokenAlgorithm, type TokenKey } from '../../../domain/token-key.ts';
import { describeKeyFactory } from '../../contracts/key-factory.ts';
import { describeKeyProvider } from '../../contracts/key-provider.ts';
import { anyText } from '../../support/any-text.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';
import { isSignedBy, OTHER_ALGORITHMS, PUBLIC_FIELDS } from '../../support/token-algorithms.ts';

describe('key files', () => {
  const { privateKey: KEY } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8') =>
    String(key.export({ type, format: 'pem' }));
  const jwk = (key: KeyObject, more: object = {}) => JSON.stringify({ ...key.export({ format: 'jwk' }), ...more });

  const KEYS = {
    PS256: KEY,
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    EdDSA: generateKeyPairSync('ed25519').privateKey,
  };

  function factoryOf(text: string, algorithm: TokenAlgorithm = 'RS256'): KeyFactory {
    const file = readKeyFile(text, algorithm);
    if (!file.ok) throw new Error(file.problem.join());
    return createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, file: file.value });
  }

  describeKeyFactory('createKeyFactory with a PEM file', async () => factoryOf(pem(KEY)));
  describeKeyFactory('createKeyFactory with a JWK file', async () => factoryOf(jwk(KEY)));
  describeKeyProvider('KeyRing on a key file', () => freshKeyRing({ factory: factoryOf(pem(KEY)) }));

  for (const [algorithm, key] of Object.entries(KEYS)) {
    const alg = algorithm as TokenAlgorithm;
    describeKeyFactory(`createKeyFactory with a PEM file`, async () => factoryOf(pem(key), alg), alg);
    describeKeyFactory(`createKeyFactory with a JWK file`, async () => factoryOf(jwk(key), alg), alg);
    describeKeyProvider(`KeyRing on a key file for ${alg}`, () =>
      freshKeyRing({ factory: factoryOf(jwk(key), alg), algorithm: alg }),
    );
  }

  describe('createKeyFactory with a key file', () => {
    it('names the key by another id for PS256, since the same file may have signed with RS256', async () => {
      const { kid } = await factoryOf(pem(KEY)).make('RS256');
      expect((await factoryOf(pem(KEY), 'PS256').make('PS256')).kid).toBe(`${kid}-PS256`);
    });

    it('returns the same key and id each time, from PEM and from a JWK', async () => {
      const pairs = await Promise.all(
        [factoryOf(pem(KEY)), factoryOf(pem(KEY)), factoryOf(jwk(KEY))].map((factory) => factory.make('RS256')),
      );
      expect(new Set(pairs.map((pair) => pair.jwk.n)).size).toBe(1);
      expect(new Set(pairs.map((pair) => pair.kid)).size).toBe(1);
    });

    it('names the key by its thumbprint (RFC 7638) if the file has no kid', async () => {
      const { kid } = await factoryOf(pem(KEY)).make('RS256');
      expect(kid).toBe(await calculateJwkThumbprint(KEY.export({ format: 'jwk' })));
    });

    it('uses the kid of a JWK', async () => {
      expect((await factoryOf(jwk(KEY, { kid: 'my-key' })).make('RS256')).kid).toBe('my-key');
    });
  });

  describe('readKeyFile', () => {
    const noKey =
      'must be a private key as PKCS#8 PEM without a passphrase, or as a JWK: openssl pkey -in <this file> -out <new file> converts other forms';
    const weak = 'must be an RSA key of 2048 to 4096 bits with an odd public exponent of at least 3';
    const noPair = 'must have d, p and q that belong to n and e';
    const badKid = 'must have a kid of 1 to 255 printable characters';
    const OTHER = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
    const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
    const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

    it.each([
      ['nothing', '', noKey],
      ['another text', 'no key at all', noKey],
      ['JSON that is no key', '{"a":1}', noKey],
      ['a JSON array', '[]', noKey],
      ['PKCS#1', pem(KEY, 'pkcs1'), noKey],
      ['a broken PEM', pem(KEY).replace(/\n.{40}/, '\n'), noKey],
      [
        'an encrypted key',
        String(KEY.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })),
        noKey,
      ],
      ['a public key', String(publicKey.export({ type: 'spki', format: 'pem' })), noKey],
      ['a public JWK', JSON.stringify(publicKey.export({ format: 'jwk' })), noKey],
      ['an elliptic curve', pem(curve), 'must be an RSA key, since TOKEN_SIGNING_ALG is RS256'],
      ['an elliptic curve as a JWK', jwk(curve), 'must be an RSA key, since TOKEN_SIGNING_ALG is RS256'],
      ['1024 bits', pem(small), weak],
      ['the exponent 1', jwk(KEY, { e: 'AQ', d: 'AQ' }), weak],
      ['an empty kid', jwk(KEY, { kid: '' }), badKid],
      ['a kid that is not a string', jwk(KEY, { kid: 1 }), badKid],
      ['a kid of 256 characters', jwk(KEY, { kid: 'k'.repeat(256) }), badKid],
      ['a kid of 100,000 characters', jwk(KEY, { kid: 'k'.repeat(100_000) }), badKid],
      ['a kid with a line break', jwk(KEY, { kid: 'a\nb' }), badKid],
      ['a kid with a character that turns the direction of text', jwk(KEY, { kid: 'a\u202eb' }), badKid],
      ['a kid twice', jwk(KEY).replace('{', '{"kid":"a","kid":"b",'), noKey],
      ['a key for encryption', jwk(KEY, { use: 'enc' }), 'must have the use sig, or none'],
      ['a key for another algorithm', jwk(KEY, { alg: 'PS256' }), 'must have the alg RS256, or none'],
      ['a key that must not sign', jwk(KEY, { key_ops: ['verify'] }), 'must have key_ops with sign, or none'],
      ['operations that are not an array', jwk(KEY, { key_ops: 'sign' }), 'must have key_ops with sign, or none'],
      ['the private exponent of another key', jwk(KEY, { d: OTHER.d }), noPair],
      ['the modulus of another key', jwk(KEY, { n: OTHER.n }), noPair],
      ['the public exponent of another key', jwk(KEY, { e: 'Aw' }), noPair],
      ['the primes of another key', jwk(KEY, { p: OTHER.p, q: OTHER.q }), noPair],
      ['a prime of 1', jwk(KEY, { p: 'AQ' }), noPair],
    ])('refuses %s, without quoting it', (_name, text, problem) => {
      expect(readKeyFile(text, 'RS256')).toEqual({ ok: false, problem: [problem] });
    });

    const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
    const x25519 = generateKeyPairSync('x25519').privateKey;
    const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey;
    const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
    const otherPoint = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    const notP256 = 'must be a P-256 key, since TOKEN_SIGNING_ALG is ES256';
    const notEd25519 = 'must be an Ed25519 key, since TOKEN_SIGNING_ALG is EdDSA';
    const noPoint = 'must have a d that belongs to the point';

    it.each([
      ['an RSA key', 'ES256', pem(KEY), notP256],
      ['another curve', 'ES256', pem(p384), notP256],
      ['an Ed25519 key', 'ES256', jwk(KEYS.EdDSA), notP256],
      ['SEC 1', 'ES256', pem(KEYS.ES256, 'sec1'), noKey],
      ['the point of another key', 'ES256', jwk(KEYS.ES256, { x: otherCurve.x, y: otherCurve.y }), noPoint],
      ['a key for another algorithm', 'ES256', jwk(KEYS.ES256, { alg: 'ES384' }), 'must have the alg ES256, or none'],
      ['an RSA key', 'EdDSA', jwk(KEY), notEd25519],
      ['a P-256 key', 'EdDSA', pem(KEYS.ES256), notEd25519],
      ['a key for key agreement', 'EdDSA', pem(x25519), notEd25519],
      ['the point of another key', 'EdDSA', jwk(KEYS.EdDSA, { x: otherPoint.x }), noPoint],
      ['a P-256 key', 'PS256', pem(KEYS.ES256), 'must be an RSA key, since TOKEN_SIGNING_ALG is PS256'],
      [
        'a key that its type restricts to PSS',
        'PS256',
        pem(pss),
        'must be an RSA key, since TOKEN_SIGNING_ALG is PS256',
      ],
      [
        'a kid that may be of RS256',
        'PS256',
        jwk(KEY, { kid: 'k' }),
        'must have the alg PS256 beside its kid, and another kid than for RS256',
      ],
      ['a key for RS256', 'PS256', jwk(KEY, { alg: 'RS256' }), 'must have the alg PS256, or none'],
      ['1024 bits', 'PS256', pem(small), weak],
    ] as const)('refuses %s for %s, without quoting it', (_name, algorithm, text, problem) => {
      expect(readKeyFile(text, algorithm)).toEqual({ ok: false, problem: [problem] });
    });

    it('reports every problem of a JWK', () => {
      expect(
        readKeyFile(jwk(KEY, { kid: '', use: 'enc', alg: 'RSA-OAEP', key_ops: ['decrypt'] }), 'RS256'),
      ).toMatchObject({
        problem: [badKid, expect.stringMatching(/use/), expect.stringMatching(/alg/), expect.stringMatching(/key_ops/)],
      });
    });

    it.each([
      ['of 255 characters', { kid: 'k'.repeat(255) }],
      ['with spaces and letters of any language', { kid: 'ключ 1' }],
      ['for signatures with RS256', { kid: 'k', use: 'sig', alg: 'RS256', key_ops: ['sign', 'verify'] }],
    ])('accepts a JWK with a kid %s', (_name, fields) => {
      expect(readKeyFile(jwk(KEY, fields), 'RS256')).toMatchObject({ ok: true, value: { kid: fields.kid } });
    });
  });
});

describe('properties of key files', () => {
  const { privateKey: KEY } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const OTHER = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  const PEM = KEY.export({ type: 'pkcs8', format: 'pem' }).toString();
  const DER = KEY.export({ type: 'pkcs8', format: 'der' });
  const JWK = KEY.export({ format: 'jwk' });
  const FIELDS = ['kty', 'n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi', 'kid', 'use', 'alg', 'key_ops', 'oth', 'ext'];
  const RUNS = { numRuns: 150 };

  /**
   * What is accepted is a key that can be trusted: its public half is usable, and verifies what its private half signs.
   */
  function expectSound(read: Result<KeyFile, readonly string[]>): void {
    if (!read.ok) {
      expect(read.problem.length).toBeGreaterThan(0);
      for (const problem of read.problem) expect(problem).toMatch(/^must (be|have) [\w ,#'.()<>:-]+$/);
      return;
    }
    const { key, kid } = read.value;
    const publicKey = createPublicKey(key);
    expect(isUsableKey(publicKey)).toBe(true);
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
});

describe('KEY_SECRET_FILE', () => {
  const SECRET = Buffer.alloc(32, 0xfb);
  const read = (text: string) => {
    const secrets = readKeySecrets(text);
    if (!secrets.ok) throw new Error(secrets.problem.join());
    return secrets.value;
  };

  it.each([
    ['as openssl rand -base64 32 writes it', `${SECRET.toString('base64')}\n`],
    ['without padding and line break', SECRET.toString('base64').replace('=', '')],
    ['in base64url', SECRET.toString('base64url')],
    ['in base64url with padding', `${SECRET.toString('base64url')}=`],
    ['with the line break of Windows', `${SECRET.toString('base64')}\r\n`],
  ])('gives the same secret %s', (_how, text) => {
    const [one, other] = [read(text)[0], read(SECRET.toString('base64'))[0]];
    expect(one?.id).toBe(other?.id);
    expect(one?.sealingKey.export()).toEqual(other?.sealingKey.export());
  });

  it('has a secret in each line, in their order', () => {
    const lines = [32, 48, 34].map((length) => randomBytes(length).toString('base64'));
    const ids = read(`${lines.join('\n')}\n`).map(({ id }) => id);
    expect(ids).toEqual(lines.map((line) => read(line)[0]?.id));
    expect(new Set(ids).size).toBe(3);
  });

  it('names the line that is wrong, of those that are not empty', () => {
    expect(readKeySecrets(`${SECRET.toString('base64')}\n\nAAAA\n`)).toMatchObject({
      problem: [expect.stringContaining('(line 2 of')],
    });
  });

  it('derives the id and the sealing key apart, from the whole secret', () => {
    const [one, other] = [randomBytes(33), randomBytes(1)].map(
      (end) => read(`${Buffer.concat([SECRET, end]).toString('base64')}`)[0],
    );
    expect(one?.id).toMatch(/^[\w-]{16}$/);
    expect(one?.id).not.toBe(other?.id);
    expect(one?.sealingKey.symmetricKeySize).toBe(32);
    expect(one?.sealingKey.export().toString('base64url')).not.toContain(one?.id);
    expect(one?.decoyKey).toHaveLength(32);
    for (const key of [one?.sealingKey.export(), other?.decoyKey]) expect(one?.decoyKey).not.toEqual(key);
  });

  it.each([
    ['nothing', ''],
    ['empty lines', '\n\n'],
    ['31 bytes', SECRET.subarray(1).toString('base64')],
    ['a short second line', `${SECRET.toString('base64')}\nAAAA\n`],
    ['hexadecimal digits of 32 bytes in groups', 'fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb'],
    ['white space around it', ` ${SECRET.toString('base64')}`],
    ['both alphabets', `+-${SECRET.toString('base64').slice(2)}`],
    ['spare bits that are not zero', `${SECRET.toString('base64').slice(0, 42)}9=`],
    ['wrong padding', `${SECRET.toString('base64')}=`],
    ['a PEM', '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----'],
  ])('is refused with %s, in one sentence that says how to make it and quotes nothing', (_what, text) => {
    const secrets = readKeySecrets(text);
    expect(secrets).toMatchObject({ ok: false, problem: [expect.stringContaining('openssl rand -base64 32')] });
    for (const line of text.split('\n').filter((part) => part.length > 3)) {
      expect(JSON.stringify(secrets)).not.toContain(line.trim());
    }
  });

  it('does not print', () => {
    const [secret] = read(SECRET.toString('base64'));
    const printed = `${inspect(secret, { depth: null, showHidden: true })}${JSON.stringify(secret)}`;
    expect(printed).not.toContain(SECRET.toString('base64').slice(0, 20));
    expect(printed).not.toContain(secret?.sealingKey.export().toString('hex').slice(0, 20));
  });
});

describe('a sealed key', () => {
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
    expect(await pair.publicKey.verify(DATA, await pair.sign(DATA))).toBe(true);
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

  /** A sound key, sealed with other fields beside it. */
  async function resealed(more: object): Promise<string> {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const own = { kid: await calculateJwkThumbprint(publicKey), jwk: privateKey.export({ format: 'jwk' }) };
    return sealed({ ...PLAN, ...own, ...more });
  }
});

describe('create key factory', () => {
  const UNUSABLE_RSA: readonly [string, object][] = [
    ['a modulus of 4104 bits', { n: Buffer.alloc(513, 0xff).toString('base64url') }],
    ['a modulus of 1024 bits', { n: Buffer.alloc(128, 0xff).toString('base64url'), e: 'AQAB' }],
    ['no modulus', { n: '', e: 'AQAB' }],
    ['invalid base64url', { n: '***', e: '***' }],
    ['the exponent 1, with which anyone can forge', { e: 'AQ' }],
    ['the exponent 1 with leading zeros', { e: 'AAAB' }],
    ['the exponent 2', { e: 'Ag' }],
    ['the even exponent 65536', { e: 'AQAA' }],
    ['a key of another type', { kty: 'EC' }],
  ];

  /** Fields that make a key unusable. */
  const UNUSABLE: Readonly<Record<TokenAlgorithm, readonly [string, object][]>> = {
    RS256: UNUSABLE_RSA,
    PS256: UNUSABLE_RSA,
    ES256: [
      ['a point that is not on the curve', { x: Buffer.alloc(32, 1).toString('base64url') }],
      ['another curve', { crv: 'P-384' }],
      ['a key for another algorithm', { alg: 'RS256' }],
      ['half of a point', { y: '' }],
    ],
    EdDSA: [
      ['a short point', { x: Buffer.alloc(31, 1).toString('base64url') }],
      ['another curve', { crv: 'X25519' }],
      ['a key for another algorithm', { alg: 'ES256' }],
      ['no point', { x: '' }],
    ],
  };

  const fresh = () => createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce });

  describeKeyFactory('createKeyFactory in memory', async () => fresh());
  for (const algorithm of OTHER_ALGORITHMS) {
    describeKeyFactory('createKeyFactory in memory', async () => fresh(), algorithm);
  }

  describe('createKeyFactory in memory', () => {
    it('names its keys by a UUID', async () => {
      const { kid } = await fresh().make('RS256');
      expect(kid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    });

    it('makes another key each time', async () => {
      expect((await fresh().make('ES256')).jwk.x).not.toBe((await fresh().make('ES256')).jwk.x);
      const [one, other] = await Promise.all([fresh().make('RS256'), fresh().make('RS256')]);
      expect(one.jwk.n).not.toBe(other.jwk.n);
      expect(one.kid).not.toBe(other.kid);
    });

    it('makes a modulus of 2048 bits and the exponent 65537', async () => {
      const { jwk } = await fresh().make('RS256');
      expect(Buffer.from(String(jwk.n), 'base64url')).toHaveLength(256);
      expect(jwk.e).toBe('AQAB');
    });
  });

  describe.each(Object.entries(UNUSABLE))('readPublicKey for %s', (algorithm, unusable) => {
    const publicKey = async () => (await fresh().make(algorithm as TokenAlgorithm)).jwk;

    it('reads the public half of a pair', async () => {
      expect(await readPublicKey(await publicKey())).toBeDefined();
    });

    it.each(unusable)('reads no key from %s', async (_name, fields) => {
      expect(await readPublicKey({ ...(await publicKey()), ...fields } as TokenKey)).toBeUndefined();
    });
  });

  it('readPublicKey reads an RSA key with the exponent 3', async () => {
    const { jwk } = await fresh().make('RS256');
    expect(await readPublicKey({ ...jwk, e: 'Aw' })).toBeDefined();
  });
});
