import { afterAll, describe, expect, it } from '@jest/globals';
import { MatchersV3 } from '@pact-foundation/pact';
import { recordContract } from './contract.ts';
import { type DecodedToken, ResourceServer } from './resource-server.ts';

const { arrayContaining, eachLike, equal, integer, regex } = MatchersV3;

const ISSUER = 'https://issuer.example';
const KEY_ID = '3aafd02d-c244-43c3-a957-8b52b88dcf9f';
const NOW = 1_800_000_000;
const PUBLIC = { description: 'the metadata is public' };

/** The modulus of a 2048-bit RSA key that is used nowhere. */
const MODULUS =
  'wPL2rXBzKisVy5Ws6nzgZYTJCeY9bzZHsoeE4LQyuyjnCWOEUrfG6ccbVRxBSRojKIyVNRYkmGmIKptP_lZdpveTxiGLrzFIXxJmDkjaEjTqYscxoYxJ' +
  'rrvOp1mqkVXhQ9caoILzgOIcoRZmre6oMf-LSwQtVSP_KAtSJEpAbjM0P_5reOabgUsSwKTTVKBe7sTB8JRh1q5-DVsQZ5TFIpK5-Hzd6qB017TrmuIO' +
  'W6IcNfpWRCv7KtPCQ_Dix6Oi6slBOoySOX9OTNiUYT9rGJdKtvxDEi3K6EVHkUEZZtQsvyEJZpQ0AGFCSgq1uiJdF8elFC2E-d6jFteFFUcW3w';

const contract = recordContract('resource-server');
afterAll(() => contract[Symbol.dispose]());

describe('the issuer', () => {
  it('is found in the metadata', () =>
    contract.requests
      .addInteraction({
        states: [PUBLIC],
        uponReceiving: 'a request for the metadata',
        withRequest: { method: 'GET', path: '/.well-known/oauth-authorization-server' },
        willRespondWith: {
          status: 200,
          headers: { 'Content-Type': regex(/^application\/json(;.*)?$/, 'application/json') },
          body: {
            issuer: regex(/^https?:\/\/[^?#]+$/, ISSUER),
            jwks_uri: regex(/^https?:\/\/[^?#]+\/oauth2\/jwks$/, `${ISSUER}/oauth2/jwks`),
            token_endpoint: regex(/^https?:\/\/[^?#]+\/oauth2\/token$/, `${ISSUER}/oauth2/token`),
            grant_types_supported: arrayContaining('client_credentials'),
            token_endpoint_auth_methods_supported: arrayContaining('client_secret_post'),
          },
        },
      })
      .executeTest(async ({ url }) => {
        const issuer = await new ResourceServer(url).findIssuer();
        expect(issuer).toEqual({ issuer: ISSUER, keySetUrl: `${ISSUER}/oauth2/jwks` });
      }));
});

describe('the key set', () => {
  it('holds public keys that can verify signatures', () =>
    contract.requests
      .addInteraction({
        states: [PUBLIC],
        uponReceiving: 'a request for the key set',
        withRequest: { method: 'GET', path: '/oauth2/jwks' },
        willRespondWith: {
          status: 200,
          headers: { 'Content-Type': regex(/^application\/(jwk-set\+)?json(;.*)?$/, 'application/json') },
          body: {
            keys: eachLike({
              kty: equal('RSA'),
              use: equal('sig'),
              alg: equal('RS256'),
              kid: regex(/^\S+$/, KEY_ID),
              n: regex(/^[\w-]{342,}$/, MODULUS),
              e: regex(/^[\w-]+$/, 'AQAB'),
            }),
          },
        },
      })
      .executeTest(async ({ url }) => {
        expect(await new ResourceServer(url).loadKeys()).toEqual([KEY_ID]);
      }));
});

describe('a token', () => {
  it('names its key, its issuer, its client and its validity period', () =>
    contract.messages
      .addAsynchronousInteraction()
      .given('an access token was issued', { client_id: 'good-client', scope: 'read' })
      .expectsToReceive('the header and the claims of an access token', (builder) =>
        builder.withJSONContent({
          header: { alg: 'RS256', kid: regex(/^\S+$/, KEY_ID) },
          claims: {
            iss: regex(/^https?:\/\/[^?#]+$/, ISSUER),
            sub: 'good-client',
            aud: 'good-client',
            iat: integer(NOW),
            nbf: integer(NOW),
            exp: integer(NOW + 300),
            jti: regex(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/, '12061558-c46c-4a74-825b-5475e37a2c5c'),
          },
        }),
      )
      .executeTest(async ({ contents }) => {
        const trust = { issuer: ISSUER, keyIds: [KEY_ID], now: NOW };
        expect(new ResourceServer('').callerOf(contents.content as unknown as DecodedToken, trust)).toBe('good-client');
      }));
});

describe('the recorded contract', () => {
  it('equals the stored contract', () => contract.expectStored());
});
