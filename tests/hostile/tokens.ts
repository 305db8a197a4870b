import { FORGED_TOKENS, NO_BEARER_TOKENS } from './forged-tokens.ts';
import {
  badRequest,
  closing,
  type ExpectedResponse,
  get,
  type HostileRequest,
  LOCATION,
  RESOURCE,
  UNAUTHORIZED,
} from './hostile-request.ts';
import type { TokenForge } from './token-forge.ts';

const invalid = (reason: string): ExpectedResponse => ({
  status: 401,
  error: 'invalid_token',
  reason,
  headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
});
const MALFORMED = badRequest('authorization_malformed', { 'www-authenticate': 'Bearer error="invalid_request"' });

const token = (name: string, forge: (make: TokenForge) => string, response: ExpectedResponse) =>
  closing(name, (make) => get(LOCATION, [`Authorization: Bearer ${forge(make)}`]), response);
const claims = (name: string, more: object, reason: string) =>
  token(name, (make) => make.token(undefined, make.claims(more)), invalid(reason));
const now = () => Math.floor(Date.now() / 1000);

/** Forged tokens, and tokens of the service's own key that are for others, or for another time. */
export const TOKENS: readonly HostileRequest[] = [
  token('a token that this test made with the key of the service', (make) => make.token(), RESOURCE),
  ...FORGED_TOKENS.map(({ name, forge, reason }) => token(name, forge, invalid(reason))),
  ...NO_BEARER_TOKENS.map(({ name, forge }) => token(`as a token: ${name}`, forge, MALFORMED)),
  claims('an exp that is over', { nbf: 1, exp: 2 }, 'token_expired'),
  claims('an nbf in an hour', { nbf: now() + 3_600, exp: now() + 7_200 }, 'token_not_yet_valid'),
  ...['http://issuer.test/', 'HTTP://ISSUER.TEST', 'http://issuer.test:80', 'https://issuer.test'].map((iss) =>
    claims(`the issuer ${iss}`, { iss }, 'token_issuer_foreign'),
  ),
  claims('the audience of another resource', { aud: 'https://api.test' }, 'token_audience_foreign'),
  claims('another client as the audience', { aud: 'wronged-client' }, 'token_audience_foreign'),
  closing('a token in the query', (make) => get(`${LOCATION}?access_token=${make.token()}`), UNAUTHORIZED),
  closing('a token in a cookie', (make) => get(LOCATION, [`Cookie: access_token=${make.token()}`]), UNAUTHORIZED),
  closing('a token as the path', (make) => get(`/${make.token()}`), UNAUTHORIZED),
];
