import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MatchersV3, type V3Interaction } from '@pact-foundation/pact';
import { ApiClient, type TokenRequest } from './api-client.ts';
import { ContractRecording } from './contract-recording.ts';
import { TOKEN_PLACEHOLDER } from './token-placeholder.ts';

const { boolean, integer, regex, string } = MatchersV3;

const CREDENTIALS = { clientId: 'good-client', clientSecret: 'good-secret' };
const REGISTERED = {
  description: 'a client is registered',
  parameters: { client_id: 'good-client', client_secret: 'good-secret', scope: 'read write' },
};
const JSON_BODY = { 'Content-Type': regex(/^application\/json(;.*)?$/, 'application/json') };
const EXAMPLE_TOKEN = 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln';
const JWT = regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, EXAMPLE_TOKEN);

let recording: ContractRecording;

beforeAll(async () => {
  recording = await ContractRecording.start('api-client');
});
afterAll(() => recording[Symbol.asyncDispose]());

function tokenRequest(
  uponReceiving: string,
  body: string,
  willRespondWith: V3Interaction['willRespondWith'],
  states: V3Interaction['states'] = [REGISTERED],
): V3Interaction {
  const contentType = 'application/x-www-form-urlencoded';
  const headers = { 'Content-Type': regex(/^application\/x-www-form-urlencoded(;.*)?$/, contentType) };
  const withRequest = { method: 'POST', path: '/oauth2/token', headers, contentType, body };
  return { states, uponReceiving, withRequest, willRespondWith };
}

describe('a token request', () => {
  it('of a registered client gets a token', () =>
    recording.request(
      tokenRequest(
        'a token request of a registered client',
        'grant_type=client_credentials&client_id=good-client&client_secret=good-secret',
        {
          status: 200,
          headers: { ...JSON_BODY, 'Cache-Control': 'no-store' },
          body: { access_token: JWT, token_type: 'Bearer', expires_in: integer(300) },
        },
      ),
      async (baseUrl) => {
        const told = await new ApiClient(baseUrl).getToken(CREDENTIALS);
        expect(told).toEqual({ kind: 'value', value: { accessToken: EXAMPLE_TOKEN, expiresInSeconds: 300 } });
      },
    ));

  it('for a scope of the registration gets a token of that scope', () =>
    recording.request(
      tokenRequest(
        'a token request for a scope of the registration',
        'grant_type=client_credentials&client_id=good-client&client_secret=good-secret&scope=read',
        {
          status: 200,
          headers: JSON_BODY,
          body: { access_token: JWT, token_type: 'Bearer', expires_in: integer(300), scope: 'read' },
        },
      ),
      async (baseUrl) => {
        const told = await new ApiClient(baseUrl).getToken({ ...CREDENTIALS, scope: 'read' });
        expect(told).toMatchObject({ kind: 'value', value: { scope: 'read' } });
      },
    ));

  const refusals: readonly {
    readonly why: string;
    readonly request: TokenRequest;
    readonly body: string;
    readonly status: number;
    readonly error: string;
    readonly states?: V3Interaction['states'];
  }[] = [
    {
      why: 'with a wrong secret',
      request: { ...CREDENTIALS, clientSecret: 'bad-secret' },
      body: 'grant_type=client_credentials&client_id=good-client&client_secret=bad-secret',
      status: 401,
      error: 'invalid_client',
    },
    {
      why: 'of an unknown client',
      states: [{ description: 'a client is not registered', parameters: { client_id: 'unknown-client' } }],
      request: { clientId: 'unknown-client', clientSecret: 'good-secret' },
      body: 'grant_type=client_credentials&client_id=unknown-client&client_secret=good-secret',
      status: 401,
      error: 'invalid_client',
    },
    {
      why: 'for a grant type that is not supported',
      request: { ...CREDENTIALS, grantType: 'password' },
      body: 'grant_type=password&client_id=good-client&client_secret=good-secret',
      status: 400,
      error: 'unsupported_grant_type',
    },
    {
      why: 'for a scope beyond the registration',
      request: { ...CREDENTIALS, scope: 'read admin' },
      body: 'grant_type=client_credentials&client_id=good-client&client_secret=good-secret&scope=read+admin',
      status: 400,
      error: 'invalid_scope',
    },
  ];

  it.each(refusals)('$why is refused: $error', ({ why, request, body, status, error, states }) =>
    recording.request(
      tokenRequest(`a token request ${why}`, body, { status, headers: JSON_BODY, body: { error } }, states),
      async (baseUrl) => {
        expect(await new ApiClient(baseUrl).getToken(request)).toEqual({ kind: 'refused', status, error });
      },
    ),
  );
});

describe('a location', () => {
  const TOKEN = { client_id: 'good-client', scope: 'read' };
  const ISSUED = { description: 'an access token was issued', parameters: TOKEN };
  const EXPIRED = { description: 'an access token has expired', parameters: TOKEN };
  const KNOWN = { description: 'a location is known', parameters: { code: 'NYC_USA' } };
  const UNKNOWN = { description: 'a location is not known', parameters: { code: 'NOWHERE' } };

  function locationRequest(
    code: string,
    authenticated: 'with a token' | 'without a token',
  ): V3Interaction['withRequest'] {
    const headers = { Authorization: `Bearer ${TOKEN_PLACEHOLDER}` };
    return {
      method: 'GET',
      path: `/v1/locations/${code}`,
      ...(authenticated === 'with a token' && { headers }),
    };
  }

  it('is read with a token', () =>
    recording.request(
      {
        states: [ISSUED, KNOWN],
        uponReceiving: 'a request for a location with a token',
        withRequest: locationRequest('NYC_USA', 'with a token'),
        willRespondWith: {
          status: 200,
          headers: JSON_BODY,
          body: {
            code: 'NYC_USA',
            city_name: string('New York City'),
            region_name: string('New York'),
            country_name: string('United States of America'),
            country_code: regex(/^[A-Z]{2}$/, 'US'),
            enabled: boolean(true),
          },
        },
      },
      async (baseUrl) => {
        expect(await new ApiClient(baseUrl).getPlace('NYC_USA', TOKEN_PLACEHOLDER)).toEqual({
          kind: 'value',
          value: {
            code: 'NYC_USA',
            city: 'New York City',
            region: 'New York',
            country: 'United States of America',
            countryCode: 'US',
            enabled: true,
          },
        });
      },
    ));

  it('is not read without a token', () =>
    recording.request(
      {
        states: [KNOWN],
        uponReceiving: 'a request for a location without a token',
        withRequest: locationRequest('NYC_USA', 'without a token'),
        willRespondWith: {
          status: 401,
          headers: { ...JSON_BODY, 'WWW-Authenticate': 'Bearer' },
          body: { error: 'unauthorized' },
        },
      },
      async (baseUrl) => {
        const told = await new ApiClient(baseUrl).getPlace('NYC_USA');
        expect(told).toEqual({ kind: 'refused', status: 401, error: 'unauthorized', challenge: 'Bearer' });
      },
    ));

  it('is not read with a token that has expired', () =>
    recording.request(
      {
        states: [EXPIRED, KNOWN],
        uponReceiving: 'a request for a location with a token that has expired',
        withRequest: locationRequest('NYC_USA', 'with a token'),
        willRespondWith: {
          status: 401,
          headers: {
            ...JSON_BODY,
            'WWW-Authenticate': regex(/^Bearer .*\berror="invalid_token"/, 'Bearer error="invalid_token"'),
          },
          body: { error: 'invalid_token' },
        },
      },
      async (baseUrl) => {
        const told = await new ApiClient(baseUrl).getPlace('NYC_USA', TOKEN_PLACEHOLDER);
        expect(told).toMatchObject({ kind: 'refused', status: 401, error: 'invalid_token' });
      },
    ));

  it('that is unknown is not found', () =>
    recording.request(
      {
        states: [ISSUED, UNKNOWN],
        uponReceiving: 'a request for an unknown location with a token',
        withRequest: locationRequest('NOWHERE', 'with a token'),
        willRespondWith: { status: 404, headers: JSON_BODY, body: { error: 'not_found' } },
      },
      async (baseUrl) => {
        const told = await new ApiClient(baseUrl).getPlace('NOWHERE', TOKEN_PLACEHOLDER);
        expect(told).toEqual({ kind: 'refused', status: 404, error: 'not_found' });
      },
    ));
});

describe('the contract', () => {
  it('is the one that is kept', () => recording.expectKept());
});
