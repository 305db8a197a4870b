import {
  badRequest,
  CREDENTIALS,
  closing,
  type ExpectedResponse,
  FORM,
  get,
  type HostileRequest,
  invalidClient,
  LOCATION,
  post,
  request,
  TOKEN,
  UNAUTHORIZED,
} from './hostile-request.ts';

const BASIC = `Basic ${Buffer.from('good-client:good-secret').toString('base64')}`;
const GRANT = 'grant_type=client_credentials';
const MALFORMED = badRequest('authorization_malformed');
const BESIDE = badRequest('authorization_beside_body');

const unsupported = (scheme: string): ExpectedResponse => ({
  ...invalidClient('authorization_method_unsupported'),
  isExplained: true,
  headers: { 'www-authenticate': `${scheme} realm="token endpoint"` },
});
const token = (name: string, authorization: string, form: string, response: ExpectedResponse) =>
  closing(name, post(form, [`Authorization: ${authorization}`]), response);

const WRONG_TOKEN: ExpectedResponse = {
  status: 401,
  error: 'invalid_token',
  reason: 'token_malformed',
  headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
};
const WRONG_HEADER = badRequest('authorization_malformed', { 'www-authenticate': 'Bearer error="invalid_request"' });
const bearer = (name: string, authorization: string, response: ExpectedResponse) =>
  closing(name, get(LOCATION, [`Authorization: ${authorization}`]), response);

/**
 * Client authentication in a header field, which is not switched on, and bearer tokens in forms that RFC 6750 does not
 * have.
 */
export const AUTHORIZATIONS: readonly HostileRequest[] = [
  token('Basic with the right secret', BASIC, GRANT, unsupported('Basic')),
  token('Basic beside the right secret', BASIC, FORM, BESIDE),
  token(
    'Basic beside a client id, which is no credential',
    BASIC,
    `${GRANT}&client_id=good-client`,
    unsupported('Basic'),
  ),
  token('Basic without credentials', 'Basic', GRANT, unsupported('Basic')),
  token('Bearer beside the right secret', 'Bearer x', FORM, BESIDE),
  token('another scheme', 'Negotiate YII=', GRANT, unsupported('Negotiate')),
  token('a scheme of 64 characters', 'S'.repeat(64), GRANT, unsupported('S'.repeat(64))),
  token('a scheme of 65 characters', 'S'.repeat(65), GRANT, MALFORMED),
  token('a scheme that would end the challenge', 'Basic"x', GRANT, MALFORMED),
  token('markup as a scheme', '<script>', GRANT, MALFORMED),
  token('a scheme beyond ASCII', '\xe9 x', GRANT, MALFORMED),
  token('a tab behind the scheme', 'Basic\tx', GRANT, MALFORMED),
  token('an empty field, which counts as absent', '', FORM, TOKEN),
  token('two empty fields', '\r\nAuthorization:', FORM, badRequest('authorization_repeated')),
  token(
    'two fields with the right secret',
    `${BASIC}\r\nAuthorization: ${BASIC}`,
    GRANT,
    badRequest('authorization_repeated'),
  ),
  token('two fields in two cases', `${BASIC}\r\nAUTHORIZATION: Bearer x`, FORM, badRequest('authorization_repeated')),
  token(
    '95 fields',
    Array(95).fill('Bearer x').join('\r\nAuthorization: '),
    FORM,
    badRequest('authorization_repeated'),
  ),
  closing(
    'Basic without a body',
    request('POST /oauth2/token HTTP/1.1', ['Host: x', `Authorization: ${BASIC}`, 'Connection: close']),
    unsupported('Basic'),
  ),
  closing('Basic for a proxy, which is not read', post(FORM, [`Proxy-Authorization: ${BASIC}`]), TOKEN),
  closing(
    'Basic in the query',
    post(GRANT, [], `?Authorization=${BASIC.slice(6)}&${CREDENTIALS}`),
    badRequest('credentials_in_query'),
  ),
  bearer('Bearer without a token', 'Bearer', WRONG_HEADER),
  bearer('Bearer with two tokens', 'Bearer a b', WRONG_HEADER),
  bearer('Bearer with a list', 'Bearer a,b', WRONG_HEADER),
  bearer('Bearer with quotation marks', 'Bearer "a"', WRONG_HEADER),
  bearer('Bearer with a colon', 'Bearer: a', WRONG_HEADER),
  bearer('Bearer with a parameter', 'Bearer token=a,b', WRONG_HEADER),
  bearer('Bearer with a byte beyond ASCII', 'Bearer \xe9', WRONG_HEADER),
  bearer('Bearer with padding alone', 'Bearer ===', WRONG_HEADER),
  bearer('Bearer with a name that every object has', 'Bearer __proto__', WRONG_TOKEN),
  bearer('Bearer with two spaces', 'Bearer  x', WRONG_TOKEN),
  bearer('Bearer in lower case', 'bearer x', WRONG_TOKEN),
  bearer('Bearer with dots', `Bearer ${'.'.repeat(1_000)}`, WRONG_TOKEN),
  bearer('Bearer with 7.5 KB', `Bearer ${'x'.repeat(7_500)}`, WRONG_TOKEN),
  bearer('the credentials of a client', BASIC, UNAUTHORIZED),
  bearer('a scheme that begins like Bearer', 'BearerX x', UNAUTHORIZED),
  bearer('another scheme than Bearer', 'Token x', UNAUTHORIZED),
];
