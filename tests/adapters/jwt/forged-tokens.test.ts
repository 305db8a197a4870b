import { constants, createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { JoseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { TokenDefect } from '../../../application/ports/token-verifier.ts';
import { CLAIMS } from '../../support/claims.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

const PAYLOAD = JSON.stringify(CLAIMS);

const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];

type SignatureOver = (input: string) => Buffer;

const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });
let verifier: JoseTokenVerifier;
let kid: string;
let privateKey: KeyObject;
let publicKey: KeyObject;

beforeAll(async () => {
  const factory = createKeyFactory({
    ids: new RandomIdGenerator(),
    privateKeys: {
      add(madeKid, key) {
        kid = madeKid;
        privateKey = key;
      },
    },
  });
  verifier = new JoseTokenVerifier(await freshKeyRing({ factory }));
  publicKey = createPublicKey(privateKey);
});

const header = (more: object = {}) => ({ kid, alg: 'RS256', ...more });
const encode = (part: string | object | Buffer) =>
  (Buffer.isBuffer(part) ? part : Buffer.from(typeof part === 'string' ? part : JSON.stringify(part))).toString(
    'base64url',
  );
const byRightKey: SignatureOver = (input) => sign('sha256', Buffer.from(input), privateKey);
const byAttacker: SignatureOver = (input) => sign('sha256', Buffer.from(input), attacker.privateKey);

/** Signs encoded parts. */
function sealed(input: string, signature: SignatureOver = byRightKey): string {
  return `${input}.${signature(input).toString('base64url')}`;
}

function forged(
  head: string | object | Buffer,
  payload: string | object | Buffer = PAYLOAD,
  signature: SignatureOver = byRightKey,
): string {
  return sealed(`${encode(head)}.${encode(payload)}`, signature);
}

/** One forgery per row: its name, how it is made, why it is refused. */
type Forgeries = readonly (readonly [string, () => string, TokenDefect])[];

function refuses(forgeries: Forgeries): void {
  it.each(forgeries)('refuses %s', async (_what, forge, problem) => {
    expect(await verifier.verify(forge())).toEqual({ ok: false, problem });
  });
}

it('accepts the token that every forgery starts from', async () => {
  expect(await verifier.verify(forged(header()))).toEqual({ ok: true, value: CLAIMS });
});

describe('a token of another algorithm', () => {
  const named = ['none', 'None', 'NONE', 'nOnE', '', 'rs256', 'RS256 ', ' RS256', 'RS256\0', 'HS256', 'ES256', 'EdDSA'];
  const odd = [null, 256, true, ['RS256'], { alg: 'RS256' }];
  refuses(
    [...named, ...odd].map((alg) => [
      `alg ${JSON.stringify(alg)}, though the right key signed it`,
      () => forged(header({ alg })),
      'token_algorithm_refused',
    ]),
  );
  refuses([
    ['a header without alg', () => forged({ kid }), 'token_algorithm_refused'],
    ['alg none with an empty signature', () => forged(header({ alg: 'none' }), PAYLOAD, empty), 'token_malformed'],
    [
      'alg none with a signature of one zero',
      () => forged(header({ alg: 'none' }), PAYLOAD, zeros(1)),
      'token_algorithm_refused',
    ],
    ['alg RS256 with an empty signature', () => forged(header(), PAYLOAD, empty), 'token_malformed'],
  ]);
  const publicSecrets: Readonly<Record<string, () => string | Buffer>> = {
    'as SPKI in PEM': () => publicKey.export({ type: 'spki', format: 'pem' }),
    'as SPKI in PEM without its last line break': () =>
      String(publicKey.export({ type: 'spki', format: 'pem' })).trim(),
    'as PKCS #1 in PEM': () => publicKey.export({ type: 'pkcs1', format: 'pem' }),
    'as SPKI in DER': () => publicKey.export({ type: 'spki', format: 'der' }),
    'as JWK': () => JSON.stringify(publicKey.export({ format: 'jwk' })),
    'as published JWK': () => JSON.stringify({ kty: 'RSA', use: 'sig', alg: 'RS256', kid, ...modulus() }),
    'by its modulus as bytes': () => Buffer.from(modulus().n, 'base64url'),
    'by its modulus as text': () => modulus().n,
    'by its id': () => kid,
    'replaced by an empty key': () => '',
  };
  refuses(
    Object.entries(publicSecrets).flatMap(([what, secret]) => [
      [
        `HS256 with the public key ${what}`,
        () => forged(header({ alg: 'HS256' }), PAYLOAD, hmac(secret)),
        'token_algorithm_refused',
      ],
      [
        `an HMAC with the public key ${what}, in a header with RS256`,
        () => forged(header(), PAYLOAD, hmac(secret)),
        'token_signature_wrong',
      ],
    ]),
  );
  const rightKeyOtherwise: Readonly<Record<string, SignatureOver>> = {
    RS384: (input) => sign('sha384', Buffer.from(input), privateKey),
    RS512: (input) => sign('sha512', Buffer.from(input), privateKey),
    PS256: (input) => pss('sha256', input),
    PS384: (input) => pss('sha384', input),
    PS512: (input) => pss('sha512', input),
    RS1: (input) => sign('sha1', Buffer.from(input), privateKey),
  };
  refuses(
    Object.entries(rightKeyOtherwise).flatMap(([alg, signature]) => [
      [`${alg} by the right key`, () => forged(header({ alg }), PAYLOAD, signature), 'token_algorithm_refused'],
      [
        `${alg} by the right key, in a header with RS256`,
        () => forged(header(), PAYLOAD, signature),
        'token_signature_wrong',
      ],
    ]),
  );
});

describe('a token with another key id', () => {
  const spellings = (): readonly string[] => [
    '',
    ` ${kid}`,
    `${kid} `,
    `${kid}\0`,
    `${kid}\n`,
    kid.toUpperCase(),
    `{${kid}}`,
    kid.replaceAll('-', ''),
    `urn:uuid:${kid}`,
    '00000000-0000-4000-8000-000000000000',
    '../../../../dev/null',
    '/proc/self/environ',
    'file:///dev/null',
    `${kid}' OR '1'='1`,
    "x' UNION SELECT 'AA' -- ",
    `${kid}; DROP TABLE clients`,
    '| whoami',
    '$(id)',
    '%00',
    '*',
    '.*',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'x'.repeat(2000),
  ];
  it.each([
    ['the right key', byRightKey],
    ['another key', byAttacker],
  ])('refuses an unknown kid, however it is spelled, signed by %s', async (_who, signature) => {
    for (const other of spellings()) {
      if (other === kid) continue;
      const token = forged({ kid: other, alg: 'RS256' }, PAYLOAD, signature);
      expect(await verifier.verify(token)).toEqual({ ok: false, problem: 'token_key_unknown' });
    }
  });
  it('refuses a kid that is not a string', async () => {
    for (const odd of [undefined, null, 0, 1, true, [kid], { kid }, [], {}]) {
      expect(await verifier.verify(forged({ kid: odd, alg: 'RS256' }))).toEqual({
        ok: false,
        problem: 'token_malformed',
      });
    }
  });
  refuses([['the right kid over another key', () => forged(header(), PAYLOAD, byAttacker), 'token_signature_wrong']]);
});

describe("a token that contains or links the attacker's key", () => {
  const jwk = { ...attacker.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'attacker' };
  const der = attacker.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const members: Readonly<Record<string, object>> = {
    jwk: { jwk },
    'jwk of an octet key': { jwk: { kty: 'oct', k: 'AA', alg: 'RS256' } },
    jku: { jku: 'https://attacker.test/jwks' },
    'jku of a data URL': { jku: `data:application/json,${JSON.stringify({ keys: [jwk] })}` },
    x5u: { x5u: 'https://attacker.test/certificate' },
    x5c: { x5c: [der] },
    'x5t and x5t#S256': { x5t: 'AAAA', 'x5t#S256': 'AAAA' },
    'all of them': { jwk, jku: 'https://attacker.test/jwks', x5u: 'https://attacker.test/x', x5c: [der] },
  };
  refuses(
    Object.entries(members).flatMap(([what, more]) => [
      [`${what}, with our kid`, () => forged(header(more), PAYLOAD, byAttacker), 'token_signature_wrong'],
      [
        `${what}, with its own kid`,
        () => forged(header({ ...more, kid: 'attacker' }), PAYLOAD, byAttacker),
        'token_key_unknown',
      ],
      [`${what}, without a kid`, () => forged({ alg: 'RS256', ...more }, PAYLOAD, byAttacker), 'token_malformed'],
    ]),
  );
});

describe('a token with a critical extension', () => {
  const members: readonly object[] = [
    { crit: ['exp'], exp: 1 },
    { crit: ['exp'] },
    { crit: ['urn:example:unknown'], 'urn:example:unknown': true },
    { crit: ['alg'] },
    { crit: ['kid'] },
    { crit: ['b64'], b64: 'false' },
    { crit: ['b64'] },
    { crit: [] },
    { crit: [''] },
    { crit: [1] },
    { crit: 'b64', b64: false },
    { crit: {} },
    { crit: null },
  ];
  refuses(members.map((more) => [JSON.stringify(more), () => forged(header(more)), 'token_malformed']));
  const unencoded = { b64: false, crit: ['b64'] };
  it('refuses an unencoded payload (RFC 7797), signed by the right key', async () => {
    const raw = sealed(`${encode(header(unencoded))}.${PAYLOAD}`);
    expect(await verifier.verify(raw)).toEqual({ ok: false, problem: 'token_malformed' });
    const encoded = forged(header(unencoded));
    expect((await verifier.verify(encoded)).ok).toBe(false);
  });
});

describe('a token in another serialization', () => {
  const parts = () => forged(header()).split('.');
  const flattened = () => {
    const [head, payload, signature] = parts();
    return { protected: head, payload, signature };
  };
  refuses([
    ['the flattened JSON serialization', () => JSON.stringify(flattened()), 'token_malformed'],
    [
      'the general JSON serialization',
      () => JSON.stringify({ payload: flattened().payload, signatures: [flattened()] }),
      'token_malformed',
    ],
    ['the JSON serialization in base64url', () => encode(flattened()), 'token_malformed'],
    ['a detached payload', () => parts().with(1, '').join('.'), 'token_malformed'],
    ['a missing header', () => parts().with(0, '').join('.'), 'token_malformed'],
    ['a missing signature', () => parts().with(2, '').join('.'), 'token_malformed'],
    ['two parts', () => parts().slice(0, 2).join('.'), 'token_malformed'],
    ['one part', () => parts().slice(0, 1).join('.'), 'token_malformed'],
    ['four parts', () => [...parts(), 'AA'].join('.'), 'token_malformed'],
    ['five parts, as a JWE has', () => [...parts(), 'AA', 'AA'].join('.'), 'token_malformed'],
    [
      'a JWE',
      () => [encode({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid }), 'AA', 'AAAAAAAAAAAAAAAA', 'AA', 'AA'].join('.'),
      'token_malformed',
    ],
    ['a dot before it', () => `.${forged(header())}`, 'token_malformed'],
    ['a dot after it', () => `${forged(header())}.`, 'token_malformed'],
    ['two dots between', () => parts().join('..'), 'token_malformed'],
    ['dots alone', () => '..', 'token_malformed'],
    ['nothing', () => '', 'token_malformed'],
    ['two tokens in a row', () => `${forged(header())}.${forged(header())}`, 'token_malformed'],
    ['another token within it', () => forged(header({ cty: 'JWT' }), forged(header())), 'token_claims_malformed'],
    [
      'another token as a JSON string within it',
      () => forged(header(), JSON.stringify(forged(header()))),
      'token_claims_malformed',
    ],
    ['the scheme repeated', () => `Bearer ${forged(header())}`, 'token_malformed'],
  ]);
});

describe('another spelling of a valid token', () => {
  it.each([1, 2])('refuses changed spare bits in each part, %d bytes past a group of three', async (rest) => {
    const head = encode(lengthened('typ', header(), rest));
    const payload = encode(lengthened('sub', CLAIMS, rest));
    const signature = byRightKey(`${head}.${payload}`).toString('base64url');
    const tokens = [
      ...respelled(head).map((other) => sealed(`${other}.${payload}`)),
      ...respelled(payload).map((other) => sealed(`${head}.${other}`)),
      ...respelled(signature).map((other) => `${head}.${payload}.${other}`),
    ];
    expect(tokens.length).toBeGreaterThanOrEqual(9);
    for (const token of tokens) expect(await verifier.verify(token)).toEqual({ ok: false, problem: 'token_malformed' });
  });

  it.each(['=', '==', ' ', '\t', '\n', '\r\n', '\0', '\u00a0', '\ufeff', '+', '/', '~', '%3D', '%20', 'é', '\u200b'])(
    'refuses %j before, after and inside each part, even if the right key signed that spelling',
    async (odd) => {
      const [head = '', payload = '', signature = ''] = forged(header()).split('.');
      const spellings = (part: string) => [
        `${odd}${part}`,
        `${part}${odd}`,
        `${part.slice(0, 8)}${odd}${part.slice(8)}`,
      ];
      const tokens = [
        ...spellings(head).map((other) => sealed(`${other}.${payload}`)),
        ...spellings(payload).map((other) => sealed(`${head}.${other}`)),
        ...spellings(signature).map((other) => `${head}.${payload}.${other}`),
      ];
      for (const token of tokens)
        expect(await verifier.verify(token)).toEqual({ ok: false, problem: 'token_malformed' });
    },
  );

  it('refuses base64 of the other alphabet', async () => {
    const [head, payload, signature = ''] = forged(header()).split('.');
    const other = Buffer.from(signature, 'base64url').toString('base64');
    expect(await verifier.verify(`${head}.${payload}.${other}`)).toEqual({ ok: false, problem: 'token_malformed' });
  });

  it('refuses a token of more than 12 KiB, even if the right key signed it', async () => {
    const longer = forged(header(), { ...CLAIMS, scope: ['x'.repeat(9 * 1024)] });
    expect(longer.length).toBeGreaterThan(12 * 1024);
    expect(await verifier.verify(longer)).toEqual({ ok: false, problem: 'token_malformed' });
    expect(await verifier.verify('x'.repeat(1_000_000))).toEqual({ ok: false, problem: 'token_malformed' });
    expect(await verifier.verify('.'.repeat(1_000_000))).toEqual({ ok: false, problem: 'token_malformed' });
  });
});

describe('a token whose header is not a JSON object', () => {
  const heads = [
    '',
    'null',
    '1',
    '"RS256"',
    '[]',
    'true',
    '{',
    '{}}',
    '{"alg"}',
    '\ufeff{}',
    "{'alg':'RS256'}",
    '\xff',
  ];
  it('refuses it, signed by the right key too', async () => {
    for (const head of heads) {
      expect(await verifier.verify(forged(head))).toEqual({ ok: false, problem: 'token_malformed' });
    }
  });
  it('refuses invalid UTF-8 in it, signed by the right key too', async () => {
    const head = Buffer.from(`{"kid":"${kid}","alg":"RS256","typ":"\xff"}`, 'latin1');
    expect(await verifier.verify(forged(head))).toEqual({ ok: false, problem: 'token_malformed' });
  });
});

describe('a well-signed token whose header is ambiguous', () => {
  const heads: Readonly<Record<string, () => string>> = {
    'alg repeated': () => `{"kid":"${kid}","alg":"none","alg":"RS256"}`,
    'kid repeated': () => `{"kid":"other","kid":"${kid}","alg":"RS256"}`,
    'alg with an escape': () => `{"kid":"${kid}","alg":"\\u0052S256"}`,
    'a member name with an escape': () => `{"kid":"${kid}","\\u0061lg":"RS256"}`,
    'white space': () => `{"kid": "${kid}", "alg": "RS256"}`,
    'a line break behind it': () => `{"kid":"${kid}","alg":"RS256"}\n`,
  };
  refuses(Object.entries(heads).map(([what, head]) => [what, () => forged(head()), 'token_malformed']));
  refuses([['b64 false that is not critical', () => forged(header({ b64: false })), 'token_malformed']]);
});

describe('a well-signed token whose claims are ambiguous', () => {
  const withMore = (more: string) => `${PAYLOAD.slice(0, -1)},${more}}`;
  const instead = (claim: keyof typeof CLAIMS, json: string) =>
    PAYLOAD.replace(`"${claim}":${JSON.stringify(CLAIMS[claim])}`, `"${claim}":${json}`);
  const payloads: Readonly<Record<string, string | Buffer>> = {
    'sub repeated': withMore('"sub":"another-client"'),
    'sub repeated with the same value': withMore('"sub":"a-client"'),
    'exp repeated': withMore('"exp":9007199254740991'),
    'exp repeated with an escape': withMore('"\\u0065xp":9007199254740991'),
    'an unknown claim repeated': withMore('"x":1,"x":2'),
    'a member of a claim repeated': withMore('"x":{"y":1,"y":2}'),
    'a name with an escape': PAYLOAD.replace('"sub"', '"\\u0073ub"'),
    'a value with an escape': instead('sub', '"\\u0061-client"'),
    'a value with an escaped slash': instead('iss', '"http:\\/\\/issuer.test"'),
    'exp as 1e400': instead('exp', '1e400'),
    'exp as -1e400': instead('exp', '-1e400'),
    'exp as 1.8e9': instead('exp', '1.8e9'),
    'exp with a fraction of zero': instead('exp', '1800000300.0'),
    'exp as minus zero': instead('exp', '-0'),
    'exp beyond the precision of a number': instead('exp', '9007199254740993'),
    'exp of a thousand digits': instead('exp', '9'.repeat(1000)),
    'white space before it': ` ${PAYLOAD}`,
    'a line break behind it': `${PAYLOAD}\n`,
    'white space within it': PAYLOAD.replace(':', ': '),
    'bytes that are no UTF-8': Buffer.from(instead('sub', '"a\xff"'), 'latin1'),
    'a byte order mark': `\ufeff${PAYLOAD}`,
    'a NUL behind it': `${PAYLOAD}\0`,
    'a trailing comma': `${PAYLOAD.slice(0, -1)},}`,
    'a comment': `${PAYLOAD}//`,
    'a second object after it': `${PAYLOAD}${PAYLOAD}`,
    'an integer name out of order': withMore('"1":1'),
  };
  refuses(
    Object.entries(payloads).map(([what, payload]) => [
      what,
      () => forged(header(), payload),
      'token_claims_malformed',
    ]),
  );
});

describe('a well-signed token whose claims are not those of an access token', () => {
  const texts = ['null', 'true', '1', '"text"', '[]', '{}', `[${PAYLOAD}]`, 'no JSON', '{"__proto__":{"iss":"x"}}'];
  refuses(texts.map((text) => [text.slice(0, 30), () => forged(header(), text), 'token_claims_malformed']));
  const claims: readonly object[] = [
    { scope: '' },
    { scope: {} },
    { scope: 1 },
    { scope: ['read', 1] },
    { aud: ['a-client'] },
    { aud: ['a-client', 'a-client'] },
    { aud: ['a-client', 1] },
    { aud: { 0: 'a-client', 1: 'b' } },
    { exp: 1_800_000_300.5 },
    { exp: '1800000300' },
    { exp: -1 },
    { exp: null },
    { exp: undefined },
    { exp: [1_800_000_300] },
    { exp: 2 ** 53 },
    { exp: CLAIMS.nbf },
    { exp: CLAIMS.nbf - 1 },
    { iat: undefined },
    { nbf: undefined },
    { jti: undefined },
    { iss: undefined },
    { sub: undefined },
    { aud: undefined },
  ];
  refuses(
    claims.map((more) => [
      Object.entries(more)
        .map(([name, value]) => `${name} ${JSON.stringify(value) ?? 'absent'}`)
        .join(),
      () => forged(header(), { ...CLAIMS, ...more }),
      'token_claims_malformed',
    ]),
  );
});

describe('a token that was changed', () => {
  it('does not verify after a change of any character', async () => {
    const token = forged(header());
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
    const parts = forged(header()).split('.');
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
    const token = forged(header());
    for (let length = 0; length < token.length; length += 1) {
      expect((await verifier.verify(token.slice(0, length))).ok).toBe(false);
      expect((await verifier.verify(token.slice(token.length - length))).ok).toBe(false);
    }
  });

  it('does not verify with another signature', async () => {
    const input = `${encode(header())}.${encode(PAYLOAD)}`;
    const good = byRightKey(input);
    const others = [
      zeros(256)(input),
      Buffer.alloc(256, 0xff),
      zeros(1)(input),
      Buffer.concat([good, Buffer.alloc(1)]),
      Buffer.concat([Buffer.alloc(1), good]),
      good.subarray(0, 255),
      good.subarray(1),
      Buffer.from(good).reverse(),
      Buffer.from(modulus().n, 'base64url'),
      Buffer.from((BigInt(`0x${good.toString('hex')}`) + modulusNumber()).toString(16).padStart(514, '0'), 'hex'),
      byRightKey(`${input}.`),
      byRightKey(PAYLOAD),
    ];
    for (const other of others) {
      expect(await verifier.verify(sealed(input, () => other))).toEqual({
        ok: false,
        problem: 'token_signature_wrong',
      });
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

function empty(): Buffer {
  return Buffer.alloc(0);
}

function zeros(length: number): SignatureOver {
  return () => Buffer.alloc(length);
}

function hmac(secret: () => string | Buffer): SignatureOver {
  return (input) => createHmac('sha256', secret()).update(input).digest();
}

function pss(hash: string, input: string): Buffer {
  const key = {
    key: privateKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  };
  return sign(hash, Buffer.from(input), key);
}

function modulus(): { readonly n: string; readonly e: string } {
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  return { n, e };
}

function modulusNumber(): bigint {
  return BigInt(`0x${Buffer.from(modulus().n, 'base64url').toString('hex')}`);
}
