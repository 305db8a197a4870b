import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { PARTS } from '../../../config/parts.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { getAccessToken, type HttpAnswer, send, sendRaw } from '../../support/http.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceOptions,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';

const NOW = 1_800_000_000;
const LIFETIME = 300;
const PATH = '/v1/locations/NYC_USA';

const clock = new FixedClock(NOW);
const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });
let service: ServiceUnderTest;
let elsewhere: ServiceUnderTest;
let kid: string;
let privateKey: KeyObject;
let publicKey: KeyObject;

beforeAll(async () => {
  const options: ServiceOptions = {
    override: (container) => {
      container.registerInstance(PARTS.clock, clock);
      const privateKeys = { add: (_kid: string, key: KeyObject) => void made.push(key) };
      container.registerInstance(PARTS.keyFactory, createKeyFactory({ ids: new RandomIdGenerator(), privateKeys }));
    },
  };
  const made: KeyObject[] = [];
  [service, elsewhere] = await Promise.all([startServiceUnderTest(options), startServiceUnderTest(options)]);
  const [published] = await service.container.resolve(PARTS.keyProvider).publicKeys();
  const modulusOf = (key: KeyObject) => createPublicKey(key).export({ format: 'jwk' }).n;
  const own = made.find((key) => modulusOf(key) === published?.n);
  if (published === undefined || own === undefined) throw new Error('the service signs with another key');
  kid = published.kid;
  privateKey = own;
  publicKey = createPublicKey(privateKey);
});

afterAll(async () => {
  await Promise.all([service.stop(), elsewhere.stop()]);
});

type SignatureOver = (input: string) => Buffer;

const byRightKey: SignatureOver = (input) => sign('sha256', Buffer.from(input), privateKey);
const byAttacker: SignatureOver = (input) => sign('sha256', Buffer.from(input), attacker.privateKey);
const empty: SignatureOver = () => Buffer.alloc(0);
const encode = (part: string | object) =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
const header = (more: object = {}) => ({ kid, alg: 'RS256', ...more });
const claims = (more: object = {}) => ({
  iss: ISSUER,
  sub: GOOD_CLIENT.client_id,
  aud: GOOD_CLIENT.client_id,
  iat: NOW,
  nbf: NOW,
  exp: NOW + LIFETIME,
  jti: randomUUID(),
  ...more,
});

function sealed(input: string, signature: SignatureOver = byRightKey): string {
  return `${input}.${signature(input).toString('base64url')}`;
}

function forged(
  head: string | object = header(),
  payload: string | object = claims(),
  signature: SignatureOver = byRightKey,
): string {
  return sealed(`${encode(head)}.${encode(payload)}`, signature);
}

const show = (token: string) => send(service.url, PATH, { headers: { authorization: `Bearer ${token}` } });

function logLineOf(answer: HttpAnswer): Record<string, unknown> | undefined {
  return service.logLines().find((line) => line['request_id'] === answer.headers['x-request-id']);
}

async function expectInvalidToken(token: string, reason: string): Promise<void> {
  const answer = await show(token);
  expect(answer.status).toBe(401);
  expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.json()).toEqual({ error: 'invalid_token' });
  expect(logLineOf(answer)).toMatchObject({
    status: 401,
    error: 'invalid_token',
    reason,
    route: '/v1/locations/:code',
  });
}

/** One forgery per row: its name, how it is made, and its reason in the log. */
type Forgeries = readonly (readonly [string, () => string | Promise<string>, string])[];

function refuses(forgeries: Forgeries): void {
  it.each(forgeries)('refuses %s', async (_what, forge, reason) => expectInvalidToken(await forge(), reason));
}

describe('the tokens that the forgeries are made from', () => {
  it('are accepted: a token that the service issued', async () => {
    const answer = await show(await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET));
    expect(answer.status).toBe(200);
    expect(answer.json()['code']).toBe('NYC_USA');
  });

  it('are accepted: a token that this test made with the key of the service', async () => {
    expect((await show(forged())).status).toBe(200);
  });
});

describe('a token that is not signed, or with another algorithm', () => {
  refuses(
    ['none', 'None', 'NONE', 'nOnE', '', ' none', 'none\0', null, 0, [], ['none']].flatMap((alg) => [
      [
        `alg ${JSON.stringify(alg)} with an empty signature`,
        () => forged(header({ alg }), claims(), empty),
        'token_malformed',
      ],
      [
        `alg ${JSON.stringify(alg)} with a signature`,
        () => forged(header({ alg }), claims(), () => Buffer.from('x')),
        'token_algorithm_refused',
      ],
    ]),
  );
  refuses([['a header without alg', () => forged({ kid }), 'token_algorithm_refused']]);

  const publicSecrets: Readonly<Record<string, () => string | Buffer>> = {
    'as SPKI in PEM': () => publicKey.export({ type: 'spki', format: 'pem' }),
    'as PKCS #1 in PEM': () => publicKey.export({ type: 'pkcs1', format: 'pem' }),
    'as SPKI in DER': () => publicKey.export({ type: 'spki', format: 'der' }),
    'as JWK': () => JSON.stringify(publicKey.export({ format: 'jwk' })),
    'by its modulus as bytes': () => Buffer.from(String(publicKey.export({ format: 'jwk' }).n), 'base64url'),
    'by its modulus as text': () => String(publicKey.export({ format: 'jwk' }).n),
    'replaced by an empty key': () => '',
  };
  refuses(
    Object.entries(publicSecrets).flatMap(([what, secret]) => [
      [
        `HS256 with the public key ${what}`,
        () => forged(header({ alg: 'HS256' }), claims(), hmac(secret)),
        'token_algorithm_refused',
      ],
      [
        `an HMAC with the public key ${what}, in a header with RS256`,
        () => forged(header(), claims(), hmac(secret)),
        'token_signature_wrong',
      ],
    ]),
  );

  const otherwise: Readonly<Record<string, SignatureOver>> = {
    RS384: (input) => sign('sha384', Buffer.from(input), privateKey),
    RS512: (input) => sign('sha512', Buffer.from(input), privateKey),
    PS256: (input) => sign('sha256', Buffer.from(input), { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING }),
  };
  refuses(
    Object.entries(otherwise).flatMap(([alg, signature]) => [
      [
        `${alg} by the key of the service`,
        () => forged(header({ alg }), claims(), signature),
        'token_algorithm_refused',
      ],
      [
        `${alg} by the key of the service, in a header with RS256`,
        () => forged(header(), claims(), signature),
        'token_signature_wrong',
      ],
    ]),
  );
});

describe('a token of another key', () => {
  const otherKids: Readonly<Record<string, () => unknown>> = {
    'that is unknown': () => randomUUID(),
    'that is empty': () => '',
    'that is ours in another spelling': () => `${kid} `,
    'that is a path': () => '../../../../../../dev/null',
    'that is a URL': () => 'https://attacker.test/key',
    'that is SQL': () => `x' UNION SELECT 'key' -- `,
    'that is SQL around the right one': () => `${kid}' OR '1'='1`,
    'that is a command': () => '| cat /etc/passwd',
    'that is a member of every object': () => '__proto__',
  };
  refuses(
    Object.entries(otherKids).map(([what, other]) => [
      `a kid ${what}`,
      () => forged(header({ kid: other() }), claims(), byAttacker),
      'token_key_unknown',
    ]),
  );
  refuses(
    [undefined, null, 0, true, ['x'], { kid: 'x' }].map((odd) => [
      `a kid that is ${JSON.stringify(odd) ?? 'absent'}`,
      () => forged({ alg: 'RS256', kid: odd }),
      'token_malformed',
    ]),
  );
  refuses([
    ['our kid over another key', () => forged(header(), claims(), byAttacker), 'token_signature_wrong'],
    [
      'a token of another instance of the service',
      () => getAccessToken(elsewhere.url, GOOD_CLIENT.client_id, GOOD_SECRET),
      'token_key_unknown',
    ],
    [
      'a token of another instance with our kid',
      async () => {
        const [, payload, signature] = (await getAccessToken(elsewhere.url, GOOD_CLIENT.client_id, GOOD_SECRET)).split(
          '.',
        );
        return `${encode(header())}.${payload}.${signature}`;
      },
      'token_signature_wrong',
    ],
  ]);

  const jwk = { ...attacker.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'attacker' };
  const brought: Readonly<Record<string, object>> = {
    jwk: { jwk },
    jku: { jku: 'https://attacker.test/jwks' },
    x5u: { x5u: 'https://attacker.test/certificate' },
    x5c: { x5c: [attacker.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] },
  };
  refuses(
    Object.entries(brought).flatMap(([name, more]) => [
      [
        `${name} of another key with our kid`,
        () => forged(header(more), claims(), byAttacker),
        'token_signature_wrong',
      ],
      [
        `${name} of another key with its own kid`,
        () => forged(header({ ...more, kid: 'attacker' }), claims(), byAttacker),
        'token_key_unknown',
      ],
      [
        `${name} of another key without a kid`,
        () => forged({ alg: 'RS256', ...more }, claims(), byAttacker),
        'token_malformed',
      ],
    ]),
  );
  refuses([
    [
      'a header with kid and alg twice',
      () => forged(`{"alg":"none","kid":"x","kid":"${kid}","alg":"RS256"}`, claims(), byAttacker),
      'token_malformed',
    ],
    [
      'a header that spells alg with an escape',
      () => forged(`{"kid":"${kid}","alg":"\\u006eone"}`, claims(), byAttacker),
      'token_malformed',
    ],
  ]);
});

describe('a token in another form', () => {
  const parts = () => forged().split('.');
  const extensions: readonly object[] = [
    { crit: ['exp'], exp: NOW + LIFETIME },
    { crit: ['urn:example:unknown'], 'urn:example:unknown': 1 },
    { crit: [] },
    { crit: 'exp' },
    { crit: ['b64'] },
  ];
  refuses(extensions.map((more) => [JSON.stringify(more), () => forged(header(more)), 'token_malformed']));
  refuses([
    ['b64 false', () => forged(header({ b64: false, crit: ['b64'] })), 'token_malformed'],
    ['a detached payload', () => parts().with(1, '').join('.'), 'token_malformed'],
    ['an empty header', () => parts().with(0, '').join('.'), 'token_malformed'],
    ['an empty signature', () => parts().with(2, '').join('.'), 'token_malformed'],
    ['dots alone', () => '..', 'token_malformed'],
    ['one character', () => 'x', 'token_malformed'],
    ['two parts', () => parts().slice(0, 2).join('.'), 'token_malformed'],
    ['four parts', () => [...parts(), 'AA'].join('.'), 'token_malformed'],
    ['a dot before it', () => `.${forged()}`, 'token_malformed'],
    ['a dot behind it', () => `${forged()}.`, 'token_malformed'],
    ['padding behind it', () => `${forged()}=`, 'token_malformed'],
    ['the other alphabet of base64', () => `${sealed(`${encode(header())}.${encode(claims())}+/`)}`, 'token_malformed'],
    ['changed spare bits in the signature', () => forged().replace(/.$/, nextCharacter), 'token_malformed'],
    ['changed spare bits in the header', () => respelledPart(0), 'token_malformed'],
    ['changed spare bits in the payload', () => respelledPart(1), 'token_malformed'],
    [
      'a signature cut within a byte',
      () => parts().with(2, String(parts()[2]).slice(0, 337)).join('.'),
      'token_malformed',
    ],
    [
      'a signature cut between bytes',
      () => parts().with(2, String(parts()[2]).slice(0, 340)).join('.'),
      'token_signature_wrong',
    ],
    [
      'a signature one byte short',
      () => forged(header(), claims(), (i) => byRightKey(i).subarray(1)),
      'token_signature_wrong',
    ],
    ['a signature of zeros', () => forged(header(), claims(), () => Buffer.alloc(256)), 'token_signature_wrong'],
    ['a header that is not JSON', () => forged('header'), 'token_malformed'],
    ['a header that is null', () => forged('null'), 'token_malformed'],
    ['a header that is an array', () => forged('[]'), 'token_malformed'],
    ['a JWE', () => `${encode({ alg: 'RSA-OAEP', enc: 'A256GCM', kid })}.AA.AAAAAAAAAAAAAAAA.AA.AA`, 'token_malformed'],
    ['a token within a token', () => forged(header({ cty: 'JWT' }), forged()), 'token_claims_malformed'],
    ['a token of 12 KiB', () => forged(header(), claims({ scope: ['x'.repeat(9 * 1024)] })), 'token_malformed'],
    ['a text of 12 KiB', () => 'x'.repeat(12_288), 'token_malformed'],
    [
      'a JSON serialization in base64url',
      () => encode({ payload: encode(claims()), signatures: [] }),
      'token_malformed',
    ],
  ]);

  it('refuses a token whose parts come from two tokens', async () => {
    const [one, other] = [forged().split('.'), forged().split('.')];
    await expectInvalidToken(one.with(1, String(other[1])).join('.'), 'token_signature_wrong');
    await expectInvalidToken(one.with(2, String(other[2])).join('.'), 'token_signature_wrong');
  });

  /** The key of the service signs the other spelling itself. */
  function respelledPart(index: 0 | 1): string {
    const inputs = [encode(withSpareBits(header(), 'typ')), encode(withSpareBits(claims(), 'sub'))];
    return sealed(inputs.with(index, String(inputs[index]).replace(/.$/, nextCharacter)).join('.'));
  }
});

describe('a well-signed token whose claims are not those of an access token of this service', () => {
  const malformed: readonly object[] = [
    { exp: NOW + 0.5 },
    { exp: `${NOW + LIFETIME}` },
    { exp: -1 },
    { exp: null },
    { exp: undefined },
    { exp: NOW - 1, nbf: NOW },
    { exp: 2 ** 60 },
    { nbf: undefined },
    { iat: undefined },
    { iat: '0' },
    { jti: undefined },
    { sub: undefined },
    { sub: '' },
    { aud: undefined },
    { aud: [GOOD_CLIENT.client_id] },
    { aud: [GOOD_CLIENT.client_id, GOOD_CLIENT.client_id] },
    { iss: undefined },
    { iss: [ISSUER] },
    { scope: '' },
  ];
  refuses(
    malformed.map((more) => [
      Object.entries(more)
        .map(([name, value]) => `${name} ${JSON.stringify(value) ?? 'absent'}`)
        .join(' and '),
      () => forged(header(), claims(more)),
      'token_claims_malformed',
    ]),
  );

  const said = (more: string) => `${JSON.stringify(claims()).slice(0, -1)},${more}}`;
  const texts: Readonly<Record<string, () => string>> = {
    'sub said twice': () => said('"sub":"another-client"'),
    'exp said twice': () => said('"exp":9007199254740991'),
    'exp said again with an escape': () => said('"\\u0065xp":9007199254740991'),
    'a value with an escape': () => JSON.stringify(claims()).replace('good-client', '\\u0067ood-client'),
    'exp as 1e400': () => JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e400'),
    'exp as 1.9e9': () => JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1.9e9'),
    'white space': () => JSON.stringify(claims(), undefined, 1),
    'an array': () => JSON.stringify([claims()]),
    'no JSON': () => 'claims',
    null: () => 'null',
  };
  refuses(
    Object.entries(texts).map(([what, text]) => [
      `claims: ${what}`,
      () => forged(header(), text()),
      'token_claims_malformed',
    ]),
  );

  refuses(
    [`${ISSUER}/`, ISSUER.toUpperCase(), `${ISSUER}:80`, ISSUER.replace('http', 'https'), 'https://elsewhere.test'].map(
      (iss) => [`the issuer ${iss}`, () => forged(header(), claims({ iss })), 'token_issuer_foreign'],
    ),
  );
});

describe('a token outside of its validity period', () => {
  const at = (nbf: number, exp: number) => () => forged(header(), claims({ iat: nbf, nbf, exp }));
  refuses([
    ['nbf one second ahead', at(NOW + 1, NOW + LIFETIME), 'token_not_yet_valid'],
    ['nbf a year ahead', at(NOW + 31_536_000, NOW + 31_536_300), 'token_not_yet_valid'],
    ['exp in this second', at(NOW - LIFETIME, NOW), 'token_expired'],
    ['exp one second ago', at(NOW - LIFETIME, NOW - 1), 'token_expired'],
    ['exp at the epoch', at(0, 1), 'token_expired'],
  ]);

  it('accepts a token up to its last second and no longer', async () => {
    const moving = new FixedClock(NOW);
    await using own = await startServiceUnderTest({
      override: (container) => container.registerInstance(PARTS.clock, moving),
    });
    const token = await getAccessToken(own.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    const statusNow = async () => (await send(own.url, PATH, { headers: { authorization: `Bearer ${token}` } })).status;
    moving.advance(LIFETIME - 1);
    expect(await statusNow()).toBe(200);
    moving.advance(1);
    expect(await statusNow()).toBe(401);
    moving.advance(-LIFETIME);
    expect(await statusNow()).toBe(200);
    moving.advance(-1);
    expect(await statusNow()).toBe(401);
  });
});

describe('credentials that are not a bearer token', () => {
  const flattened = () => {
    const [head, payload, signature] = forged().split('.');
    return { protected: head, payload, signature };
  };
  it.each<readonly [string, () => string]>([
    ['the flattened JSON serialization', () => JSON.stringify(flattened())],
    ['white space within', () => forged().replace('.', ' .')],
    ['a tab within', () => forged().replace('.', '.\t')],
    ['padding within', () => forged().replace('.', '=.')],
    ['two tokens', () => `${forged()} ${forged()}`],
    ['two tokens with a comma between', () => `${forged()}, ${forged()}`],
    ['quotation marks around it', () => `"${forged()}"`],
    ['the scheme twice', () => `Bearer ${forged()}`],
    ['percent-encoding', () => forged().replace('.', '%2E')],
    ['nothing', () => ''],
  ])('refuses %s as a malformed header', async (_what, credentials) => {
    const answer = await show(credentials());
    expect(answer.status).toBe(400);
    expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_request"');
    expect(answer.json()['error']).toBe('invalid_request');
    expect(logLineOf(answer)?.['reason']).toBe('authorization_malformed');
  });

  it('refuses bytes beyond ASCII and NUL in the header', async () => {
    for (const odd of ['é', '\u200b', '\0']) {
      const request = `GET ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${forged()}${odd}\r\n\r\n`;
      expect(await sendRaw(service.port, request)).toMatch(/^HTTP\/1\.1 400 [\s\S]*"error":"invalid_request"/);
    }
  });
});

describe('every forgery', () => {
  it('is refused if any character of a valid token is replaced', async () => {
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    const change = fc.tuple(fc.nat({ max: token.length - 1 }), fc.constantFrom('A', 'g', 'w', '_', '0', '.'));
    await fc.assert(
      fc.asyncProperty(change, async ([index, character]) => {
        fc.pre(token[index] !== character);
        const answer = await show(`${token.slice(0, index)}${character}${token.slice(index + 1)}`);
        expect([answer.status, answer.text]).toEqual([401, '{"error":"invalid_token"}']);
      }),
      { numRuns: 200 },
    );
  });

  it('is refused in the same way on a path that does not exist', async () => {
    const token = forged(header(), claims(), byAttacker);
    const answer = await send(service.url, '/nowhere', { headers: { authorization: `Bearer ${token}` } });
    expect([answer.status, answer.text]).toEqual([401, '{"error":"invalid_token"}']);
    expect(logLineOf(answer)).toMatchObject({ reason: 'token_signature_wrong', route: 'none' });
  });

  it('is logged with its reason only: no token, no signature', async () => {
    const token = forged(header(), claims(), byAttacker);
    await show(token);
    for (const part of token.split('.')) expect(service.logText()).not.toContain(part);
  });

  it('is logged with its client only if the key of the service signed it', async () => {
    const ours = await show(forged(header(), claims({ nbf: 1, exp: 2 })));
    const theirs = await show(forged(header(), claims({ nbf: 1, exp: 2 }), byAttacker));
    expect(logLineOf(ours)?.['client_id']).toBe(GOOD_CLIENT.client_id);
    expect(logLineOf(theirs)).not.toHaveProperty('client_id');
  });
});

function hmac(secret: () => string | Buffer): SignatureOver {
  return (input) => createHmac('sha256', secret()).update(input).digest();
}

function nextCharacter(character: string): string {
  return String.fromCharCode(character.charCodeAt(0) + 1);
}

/** The JSON of an object, with a member of such a length that the last base64url character has unused bits. */
function withSpareBits(object: object, member: string): string {
  const texts = ['x', 'xx'].map((value) => JSON.stringify({ ...object, [member]: value }));
  return texts.find((text) => text.length % 3 !== 0) ?? '';
}
