import {
  badRequest,
  CREDENTIALS,
  closing,
  type ExpectedResponse,
  FORM,
  get,
  type HostileRequest,
  openlyRefused,
  post,
  refused,
  request,
  TOKEN,
  UNAUTHORIZED,
} from './hostile-request.ts';
import type { TokenForge } from './token-forge.ts';

const GRANT = 'grant_type=client_credentials';
const TYPE = 'client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const OFF = openlyRefused('method_unsupported');
const BASIC_OFF: ExpectedResponse = {
  ...openlyRefused('authorization_method_unsupported'),
  headers: { 'www-authenticate': 'Basic realm="token endpoint"' },
};
const NO_RESOURCE = refused(400, 'invalid_target', 'resource_not_registered');

const now = () => Math.floor(Date.now() / 1000);
const assertionClaims = (more: object = {}) => ({
  iss: 'good-client',
  sub: 'good-client',
  aud: 'http://issuer.test',
  iat: now(),
  exp: now() + 60,
  jti: crypto.randomUUID(),
  ...more,
});
/** An assertion that nobody but the attacker signed, by default with RS256. */
const forged = (forge: TokenForge, header: object = {}, claims: string | object = {}) =>
  forge.token(
    { alg: 'RS256', ...header },
    typeof claims === 'string' ? claims : assertionClaims(claims),
    forge.byAttacker,
  );

const form = (name: string, body: (forge: TokenForge) => string, response: ExpectedResponse = OFF) =>
  closing(name, (forge) => post(`${GRANT}&${body(forge)}`), response);
const assertion = (name: string, compact: (forge: TokenForge) => string, response: ExpectedResponse = OFF) =>
  form(name, (forge) => `${TYPE}&client_assertion=${compact(forge)}`, response);

/** Assertions (RFC 7523) that a client with the right key does not send. */
export const ASSERTIONS: readonly HostileRequest[] = [
  assertion('an assertion that is no JWT', () => 'x'),
  assertion('an assertion of dots', () => '.'.repeat(1_000)),
  assertion('an assertion of 15 KiB', (forge) => forged(forge, {}, { x: 'x'.repeat(11_000) })),
  assertion('an assertion signed by an attacker', (forge) => forged(forge)),
  assertion('an assertion by another curve, without a kid', (forge) => forged(forge, { alg: 'ES384' })),
  assertion('an assertion with the key of the service', (forge) => forge.token({ alg: 'RS256' }, assertionClaims())),
  assertion('an assertion with its key in the header', (forge) => forged(forge, { jwk: forge.attackerJwk })),
  assertion('an assertion with alg none', (forge) => forged(forge, { alg: 'none' })),
  assertion('an assertion with HS256', (forge) => forged(forge, { alg: 'HS256' })),
  assertion('an assertion of 2,000 arrays in each other', (forge) =>
    forged(forge, {}, `{"x":${'['.repeat(2_000)}${']'.repeat(2_000)}}`),
  ),
  assertion('an assertion with 300 audiences', (forge) =>
    forged(forge, {}, { aud: Array(300).fill('http://issuer.test') }),
  ),
  assertion('an assertion of a platform, signed by an attacker', (forge) =>
    forged(forge, {}, { iss: 'https://cluster.test', sub: 'system:serviceaccount:shop:billing' }),
  ),
  assertion('an access token of the service as an assertion', (forge) => forge.token()),
  form(
    'an assertion beside the right secret',
    (forge) => `${CREDENTIALS}&${TYPE}&client_assertion=${forged(forge)}`,
    TOKEN,
  ),
  form('an assertion without its type', (forge) => `client_assertion=${forged(forge)}`),
  form('the type of an assertion alone', () => TYPE),
  form(
    'an assertion of another type',
    (forge) => `${TYPE.replace('jwt-bearer', 'saml2-bearer')}&client_assertion=${forged(forge)}`,
  ),
  form(
    'an assertion twice',
    (forge) => `${TYPE}&client_assertion=x&client_assertion=${forged(forge)}`,
    badRequest('parameter_repeated'),
  ),
];

const basic = (name: string, credentials: string, response: ExpectedResponse = BASIC_OFF, body = GRANT) =>
  closing(name, post(body, [`Authorization: Basic ${credentials}`]), response);
const encoded = (text: string) => Buffer.from(text, 'latin1').toString('base64');

/** Credentials of HTTP Basic (RFC 7617) that two readers may read in two ways. */
export const BASIC_CREDENTIALS: readonly HostileRequest[] = [
  basic('Basic that is not base64', '%%%'),
  basic('Basic without a colon', encoded('good-client')),
  basic('Basic in the other alphabet of base64', encoded('good-client:\xff\xfe\xfd').replace(/[+/]/g, '_')),
  basic('Basic with bytes behind the secret', `${encoded('good-client:good-secret').replace(/=+$/, '')}AAA`),
  basic('Basic that is not UTF-8', encoded('good-client:\xff')),
  basic('Basic with a broken percent-encoding', encoded('good-client:%zz')),
  basic('Basic with a NUL in the client id', encoded('good-client%00:good-secret')),
  basic('Basic without a secret', encoded('good-client:')),
  basic('Basic with a wrong secret', encoded('wronged-client:x')),
  basic('Basic with 7 KB', encoded('wronged-client:'.padEnd(5_400, 'x'))),
  basic(
    'Basic with another client id in the body',
    encoded('good-client:good-secret'),
    undefined,
    `${GRANT}&client_id=wronged-client`,
  ),
];

const resource = (name: string, text: string) => closing(name, post(`${FORM}&resource=${text}`), NO_RESOURCE);

/** What is nearly the resource that the client is registered for, where it is. */
export const RESOURCES: readonly HostileRequest[] = [
  resource('the registered resource', 'https://registered.test/a'),
  resource('the resource in upper case', 'HTTPS://REGISTERED.TEST/a'),
  resource('the resource with its port', 'https://registered.test:443/a'),
  resource('the resource with a slash at the end', 'https://registered.test/a/'),
  resource('the resource with dots', 'https://registered.test/b/../a'),
  resource('the resource, percent-encoded twice', 'https://registered.test/%2561'),
  resource('the resource with a query', 'https://registered.test/a?'),
  resource('the resource with a user', 'https://x@registered.test/a'),
  resource('the resource beside another one', 'https://registered.test/a&resource=https://api.test'),
];

const metadata = (name: string, line: string, response = UNAUTHORIZED) =>
  closing(name, request(`${line} HTTP/1.1`, ['Host: evil.test', 'Connection: close']), response);

/** The metadata, and paths that are nearly theirs. */
export const METADATA: readonly HostileRequest[] = [
  metadata('the key set', 'GET /oauth2/jwks'),
  metadata('the metadata', 'GET /.well-known/oauth-authorization-server'),
  metadata('HEAD of the key set', 'HEAD /oauth2/jwks', { ...UNAUTHORIZED, isHead: true }),
  metadata('POST to the key set', 'POST /oauth2/jwks'),
  metadata('the key set with a slash at the end', 'GET /oauth2/jwks/'),
  metadata('the key set, percent-encoded', 'GET /oauth2/%6Awks'),
  metadata('the metadata of another issuer', 'GET /.well-known/oauth-authorization-server/evil'),
  metadata('the metadata of OpenID', 'GET /.well-known/openid-configuration'),
  metadata('the metadata of a resource', 'GET /.well-known/oauth-protected-resource'),
  metadata('the authorization endpoint of a login', 'GET /oauth2/authorize?response_type=code&client_id=x'),
];

const forwarded = (name: string, ...fields: readonly string[]) => closing(name, post(FORM, fields), TOKEN);

/** What a proxy says of its client. */
export const FORWARDED: readonly HostileRequest[] = [
  forwarded('an address that is none', 'X-Forwarded-For: good-secret'),
  forwarded('an address with markup', 'X-Forwarded-For: <script>'),
  forwarded('an address of loopback', 'X-Forwarded-For: 127.0.0.1'),
  forwarded('800 addresses', `X-Forwarded-For: ${Array(800).fill('10.0.0.1').join(',')}`),
  forwarded('7 KB of commas', `X-Forwarded-For: ${','.repeat(7_000)}`),
  forwarded('an address in Forwarded', 'Forwarded: for="[2001:db8::1]:65536";host=evil.test'),
  forwarded('an address in both', 'Forwarded: for=192.0.2.1', 'X-Forwarded-For: 192.0.2.2'),
  closing(
    'the address of the PROXY protocol',
    `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${post(FORM)}`,
    badRequest('request_malformed'),
  ),
  closing(
    'a traceparent that is none',
    get('/', ['traceparent: 00-x', 'tracestate: '.padEnd(7_000, 'x')]),
    UNAUTHORIZED,
  ),
];
