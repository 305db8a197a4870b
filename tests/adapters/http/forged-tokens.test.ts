import { type KeyObject, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { PARTS } from '../../../config/parts.ts';
import { encode, TokenForge } from '../../hostile/token-forge.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
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
let service: ServiceUnderTest;
let elsewhere: ServiceUnderTest;
let make: TokenForge;

beforeAll(async () => {
  const options: ServiceOptions = {
    override: (container) => {
      container.registerInstance(PARTS.clock, clock);
      const privateKeys = { add: (kid: string, key: KeyObject) => void made.set(kid, key) };
      container.registerInstance(
        PARTS.keyFactory,
        createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, privateKeys }),
      );
    },
  };
  const made = new Map<string, KeyObject>();
  [service, elsewhere] = await Promise.all([startServiceUnderTest(options), startServiceUnderTest(options)]);
  const [published] = await service.container.resolve(PARTS.keyProvider).publicKeys();
  const key = made.get(published?.kid ?? '');
  if (published === undefined || key === undefined) throw new Error('the service signs with another key');
  make = new TokenForge(key, published.kid, ISSUER, () => NOW);
});

afterAll(async () => {
  await Promise.all([service.stop(), elsewhere.stop()]);
});

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

const token = () => getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
const tokenOfAnother = () => getAccessToken(elsewhere.url, GOOD_CLIENT.client_id, GOOD_SECRET);

// tests/hostile/ sends every forgery to the service; this is about what a token of the service itself can become.
describe('a token that the service issued', () => {
  it('is accepted, as is one that this test made with the key of the service', async () => {
    const answer = await show(await token());
    expect(answer.status).toBe(200);
    expect(answer.json()['code']).toBe('NYC_USA');
    expect((await show(make.token())).status).toBe(200);
  });

  it('is refused if any character of it is replaced', async () => {
    const valid = await token();
    const change = fc.tuple(fc.nat({ max: valid.length - 1 }), fc.constantFrom('A', 'g', 'w', '_', '0', '.'));
    await fc.assert(
      fc.asyncProperty(change, async ([index, character]) => {
        fc.pre(valid[index] !== character);
        const answer = await show(`${valid.slice(0, index)}${character}${valid.slice(index + 1)}`);
        expect([answer.status, answer.text]).toEqual([401, '{"error":"invalid_token"}']);
      }),
      { numRuns: 200 },
    );
  });

  it('is refused if its parts come from two tokens', async () => {
    const [one, other] = [(await token()).split('.'), (await token()).split('.')];
    await expectInvalidToken(one.with(1, String(other[1])).join('.'), 'token_signature_wrong');
    await expectInvalidToken(one.with(2, String(other[2])).join('.'), 'token_signature_wrong');
  });

  it('is refused by another instance of the service, with our key id too', async () => {
    const foreign = await tokenOfAnother();
    await expectInvalidToken(foreign, 'token_key_unknown');
    await expectInvalidToken(foreign.replace(/[^.]*/, encode(make.header())), 'token_signature_wrong');
  });
});

describe('a token outside of its validity period', () => {
  const at = (nbf: number, exp: number) => () => make.token(undefined, make.claims({ iat: nbf, nbf, exp }));
  it.each([
    ['nbf one second ahead', at(NOW + 1, NOW + LIFETIME), 'token_not_yet_valid'],
    ['nbf a year ahead', at(NOW + 31_536_000, NOW + 31_536_300), 'token_not_yet_valid'],
    ['exp in this second', at(NOW - LIFETIME, NOW), 'token_expired'],
    ['exp one second ago', at(NOW - LIFETIME, NOW - 1), 'token_expired'],
    ['exp at the epoch', at(0, 1), 'token_expired'],
  ])('refuses %s', (_what, forge, reason) => expectInvalidToken(forge(), reason));

  it('accepts a token up to its last second and no longer', async () => {
    const moving = new FixedClock(NOW);
    await using own = await startServiceUnderTest({
      override: (container) => container.registerInstance(PARTS.clock, moving),
    });
    const issued = await getAccessToken(own.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    const statusNow = async () =>
      (await send(own.url, PATH, { headers: { authorization: `Bearer ${issued}` } })).status;
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

it('refuses bytes beyond ASCII and NUL in the header', async () => {
  for (const odd of ['é', '\u200b', '\0']) {
    const request = `GET ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${make.token()}${odd}\r\n\r\n`;
    expect(await sendRaw(service.port, request)).toMatch(/^HTTP\/1\.1 400 [\s\S]*"error":"invalid_request"/);
  }
});

describe('every forgery', () => {
  const forged = (more: object = { jti: randomUUID() }) => make.token(undefined, make.claims(more), make.byAttacker);

  it('is refused in the same way on a path that does not exist', async () => {
    const answer = await send(service.url, '/nowhere', { headers: { authorization: `Bearer ${forged()}` } });
    expect([answer.status, answer.text]).toEqual([401, '{"error":"invalid_token"}']);
    expect(logLineOf(answer)).toMatchObject({ reason: 'token_signature_wrong', route: 'none' });
  });

  it('is logged with its reason only: no token, no signature', async () => {
    const sent = forged();
    await show(sent);
    for (const part of sent.split('.')) expect(service.logText()).not.toContain(part);
  });

  it('is logged with its client only if the key of the service signed it', async () => {
    const ours = await show(make.token(undefined, make.claims({ nbf: 1, exp: 2 })));
    const theirs = await show(forged({ nbf: 1, exp: 2 }));
    expect(logLineOf(ours)?.['client_id']).toBe(GOOD_CLIENT.client_id);
    expect(logLineOf(theirs)).not.toHaveProperty('client_id');
  });
});
