import { afterAll, describe, expect, it } from '@jest/globals';
import { MatchersV3, type V3Interaction, type V3ProviderState } from '@pact-foundation/pact';
import { ApiClient, type TokenRequest } from './api-client.ts';
import { recordContract, TOKEN_PLACEHOLDER } from './contract.ts';

const { boolean, integer, regex, string } = MatchersV3;

const CREDENTIALS = { clientId: 'good-client', clientSecret: 'good-secret' };
const REGISTERED = {
  description: 'a client is registered',
  parameters: { client_id: 'good-client', client_secret: 'good-secret', scope: 'read write' },
};
const NOT_REGISTERED = { description: 'a client is not registered', parameters: { client_id: 'unknown-client' } };
const JSON_BODY = { 'Content-Type': regex(/^application\/json(;.*)?$/, 'application/json') };
const EXAMPLE_TOKEN = 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln';
const TOKEN_ANSWER = {
  access_token: regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, EXAMPLE_TOKEN),
  token_type: 'Bearer',
  expires_in: integer(300),
};

const contract = recordContract('api-client');
afterAll(() => contract[Symbol.dispose]());

function recordRequest(interaction: V3Interaction, send: (client: ApiClient) => Promise<void>): Promise<void> {
  return contract.requests.addInteraction(interaction).executeTest(({ url }) => send(new ApiClient(url)));
}

/** The request of `getToken`, and the response to it. */
function tokenRequest(
  uponReceiving: string,
  { clientId, clientSecret, grantType = 'client_credentials', scope }: TokenRequest,
  willRespondWith: V3Interaction['willRespondWith'],
  state: V3ProviderState = REGISTERED,
): V3Interaction {
  const contentType = 'application/x-www-form-urlencoded';
  const headers = { 'Content-Type': regex(/^application\/x-www-form-urlencoded(;.*)?$/, contentType) };
  const fields = { grant_type: grantType, client_id: clientId, client_secret: clientSecret, ...(scope && { scope }) };
  const body = new URLSearchParams(fields).toString();
  const withRequest = { method: 'POST', path: '/oauth2/token', headers, contentType, body };
  return { states: [state], uponReceiving, withRequest, willRespondWith };
}

describe('a token request', () => {
  it('of a registered client gets a token', () => {
    const response = { status: 200, headers: { ...JSON_BODY, 'Cache-Control': 'no-store' }, body: TOKEN_ANSWER };
    return recordRequest(
      tokenRequest('a token request of a registered client', CREDENTIALS, response),
      async (client) => {
        const outcome = await client.getToken(CREDENTIALS);
        expect(outcome).toEqual({ kind: 'value', value: { accessToken: EXAMPLE_TOKEN, expiresInSeconds: 300 } });
      },
    );
  });

  it('for a scope of the registration gets a token with that scope', () => {
    const request = { ...CREDENTIALS, scope: 'read' };
    const response = { status: 200, headers: JSON_BODY, body: { ...TOKEN_ANSWER, scope: 'read' } };
    return recordRequest(
      tokenRequest('a token request for a scope of the registration', request, response),
      async (client) => {
        expect(await client.getToken(request)).toMatchObject({ kind: 'value', value: { scope: 'read' } });
      },
    );
  });

  it.each<[string, number, string, Partial<TokenRequest>, V3ProviderState]>([
    ['with a wrong secret', 401, 'invalid_client', { clientSecret: 'bad-secret' }, REGISTERED],
    ['of an unknown client', 401, 'invalid_client', { clientId: 'unknown-client' }, NOT_REGISTERED],
    ['for a grant type that is not supported', 400, 'unsupported_grant_type', { grantType: 'password' }, REGISTERED],
    ['for a scope beyond the registration', 400, 'invalid_scope', { scope: 'read admin' }, REGISTERED],
  ])('%s is refused with %d %s', (which, status, error, changed, state) => {
    const request = { ...CREDENTIALS, ...changed };
    const response = { status, headers: JSON_BODY, body: { error } };
    return recordRequest(tokenRequest(`a token request ${which}`, request, response, state), async (client) => {
      expect(await client.getToken(request)).toEqual({ kind: 'refused', status, error });
    });
  });
});

describe('a location', () => {
  const CLIENT = { client_id: 'good-client', scope: 'read' };
  const ISSUED = { description: 'an access token was issued', parameters: CLIENT };
  const EXPIRED = { description: 'an access token has expired', parameters: CLIENT };
  const KNOWN = { description: 'a location is known', parameters: { code: 'NYC_USA' } };
  const UNKNOWN = { description: 'a location is not known', parameters: { code: 'NOWHERE' } };
  const WITH_TOKEN = { headers: { Authorization: `Bearer ${TOKEN_PLACEHOLDER}` } };

  it('is returned for a valid token', () => {
    const body = {
      code: 'NYC_USA',
      city_name: string('New York City'),
      region_name: string('New York'),
      country_name: string('United States of America'),
      country_code: regex(/^[A-Z]{2}$/, 'US'),
      enabled: boolean(true),
    };
    return recordRequest(
      {
        states: [ISSUED, KNOWN],
        uponReceiving: 'a request for a location with a token',
        withRequest: { method: 'GET', path: '/v1/locations/NYC_USA', ...WITH_TOKEN },
        willRespondWith: { status: 200, headers: JSON_BODY, body },
      },
      async (client) => {
        const place = {
          code: 'NYC_USA',
          city: 'New York City',
          region: 'New York',
          country: 'United States of America',
        };
        const value = { ...place, countryCode: 'US', enabled: true };
        expect(await client.getPlace('NYC_USA', TOKEN_PLACEHOLDER)).toEqual({ kind: 'value', value });
      },
    );
  });

  it('is refused without a token', () => {
    const headers = { ...JSON_BODY, 'WWW-Authenticate': 'Bearer' };
    return recordRequest(
      {
        states: [KNOWN],
        uponReceiving: 'a request for a location without a token',
        withRequest: { method: 'GET', path: '/v1/locations/NYC_USA' },
        willRespondWith: { status: 401, headers, body: { error: 'unauthorized' } },
      },
      async (client) => {
        const outcome = await client.getPlace('NYC_USA');
        expect(outcome).toEqual({ kind: 'refused', status: 401, error: 'unauthorized', challenge: 'Bearer' });
      },
    );
  });

  const INVALID = { 'WWW-Authenticate': regex(/^Bearer .*\berror="invalid_token"/, 'Bearer error="invalid_token"') };

  it.each<[string, number, string, string, V3ProviderState[], object]>([
    ['a location with a token that has expired', 401, 'invalid_token', 'NYC_USA', [EXPIRED, KNOWN], INVALID],
    ['an unknown location with a token', 404, 'not_found', 'NOWHERE', [ISSUED, UNKNOWN], {}],
  ])('requested as %s is refused with %d %s', (which, status, error, code, states, headers) =>
    recordRequest(
      {
        states,
        uponReceiving: `a request for ${which}`,
        withRequest: { method: 'GET', path: `/v1/locations/${code}`, ...WITH_TOKEN },
        willRespondWith: { status, headers: { ...JSON_BODY, ...headers }, body: { error } },
      },
      async (client) => {
        expect(await client.getPlace(code, TOKEN_PLACEHOLDER)).toMatchObject({ kind: 'refused', status, error });
      },
    ),
  );
});

describe('the recorded contract', () => {
  it('equals the stored contract', () => contract.expectStored());
});
