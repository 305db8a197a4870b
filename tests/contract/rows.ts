/** `must` and `should` are requirements of the RFC; `ours` is what this service promises beyond it. */
export type Severity = 'must' | 'should' | 'ours';

/** A request of a row. Texts may contain `{id}`, `{secret}` and `{token}`. */
export interface RowRequest {
  readonly method?: string;
  /** From the base URL; the token endpoint if absent. */
  readonly path?: string;
  /** Behind the path, with its question mark. */
  readonly query?: string;
  /** In order. A name may come twice, which only a socket can send. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
}

/** What a response must have. */
export interface Expectation {
  readonly status: number;
  readonly error?: string;
  /** By name, in lower case: what the value must match. */
  readonly headers?: Readonly<Record<string, RegExp>>;
  /** Fields of the body, and what their values must match as text. */
  readonly fields?: Readonly<Record<string, RegExp>>;
  /** Fields that the body must not have. */
  readonly without?: readonly string[];
  /** The row whose response has the same status, body and names of header fields. */
  readonly sameAs?: string;
  readonly noBody?: true;
}

/** A row of the contract. */
export interface Row {
  readonly name: string;
  /** The document and its section. */
  readonly source: string;
  readonly severity: Severity;
  readonly request: RowRequest;
  readonly expect: Expectation;
  /** Sent over a socket only: Request and Response of the Web cannot express it. */
  readonly socketOnly?: true;
}

export const CREDENTIALS = 'client_id={id}&client_secret={secret}';
const GRANT = 'grant_type=client_credentials';
const GOOD = `${GRANT}&${CREDENTIALS}`;
const FORM = 'application/x-www-form-urlencoded';

const INVALID_REQUEST = { status: 400, error: 'invalid_request' };
const INVALID_CLIENT = { status: 401, error: 'invalid_client' };
const INVALID_SCOPE = { status: 400, error: 'invalid_scope' };
const INVALID_TARGET = { status: 400, error: 'invalid_target' };
const UNSUPPORTED_GRANT = { status: 400, error: 'unsupported_grant_type' };
const BEARER_MALFORMED = { ...INVALID_REQUEST, headers: { 'www-authenticate': /^Bearer error="invalid_request"/ } };

/** A request for a token with this body. */
const token = (body: string, more: RowRequest = {}): RowRequest => ({ body, ...more });
const typed = (type: string, body = GOOD): RowRequest => ({ body, headers: [['content-type', type]] });
const bearer = (path: string, value = 'Bearer {token}'): RowRequest => ({
  method: 'GET',
  path,
  headers: [['authorization', value]],
});

const row = (severity: Severity, source: string, name: string, request: RowRequest, expect: Expectation): Row => {
  const names = request.headers?.map(([field]) => field) ?? [];
  return { severity, source, name, request, expect, ...(new Set(names).size < names.length && { socketOnly: true }) };
};

/** The contract of the token endpoint, in the order in which it is checked. */
export const TOKEN_ROWS: readonly Row[] = [
  row('must', 'RFC 6749 5.1', 'a token for the right credentials', token(GOOD), {
    status: 200,
    fields: { access_token: /^[\w-]+\.[\w-]+\.[\w-]+$/, token_type: /^bearer$/i, expires_in: /^[1-9]\d*$/ },
    without: ['refresh_token', 'error'],
    headers: { 'content-type': /^application\/json/, 'cache-control': /no-store/, pragma: /no-cache/ },
  }),
  row('ours', 'contract', 'an id on every response', token(GOOD), {
    status: 200,
    headers: { 'x-request-id': /^[\w-]{8,}$/ },
  }),
  row(
    'must',
    'RFC 6749 3.2',
    'unknown parameters are ignored',
    token(`${GOOD}&colour=blue&client_id[a]=b&client_id.a=b`),
    { status: 200 },
  ),
  row('must', 'RFC 6749 3.2', 'an empty parameter counts as absent', token(`${GOOD}&scope=`), { status: 200 }),
  row('must', 'RFC 6749 B', 'a charset of UTF-8', typed(`${FORM};charset=UTF-8`), { status: 200 }),
  row('must', 'RFC 6749 5.2', 'no grant_type', token(CREDENTIALS), INVALID_REQUEST),
  row('must', 'RFC 6749 3.2', 'an empty grant_type', token(`grant_type=&${CREDENTIALS}`), INVALID_REQUEST),
  row(
    'must',
    'RFC 6749 5.2',
    'another grant',
    token(`grant_type=password&${CREDENTIALS}&username=a&password=b`),
    UNSUPPORTED_GRANT,
  ),
  row(
    'must',
    'RFC 6749 4.4.2',
    'grant_type in another case',
    token(`grant_type=Client_Credentials&${CREDENTIALS}`),
    UNSUPPORTED_GRANT,
  ),
  row('must', 'RFC 6749 3.2', 'grant_type twice', token(`${GRANT}&${GOOD}`), INVALID_REQUEST),
  row('must', 'RFC 6749 3.2', 'client_secret twice', token(`${GOOD}&client_secret={secret}`), INVALID_REQUEST),
  row('must', 'RFC 6749 3.2', 'an unknown parameter twice', token(`${GOOD}&a=1&a=2`), INVALID_REQUEST),
  row('must', 'RFC 6749 3.2', 'scope twice, once empty', token(`${GOOD}&scope=&scope=`), INVALID_REQUEST),
  row(
    'must',
    'RFC 6749 2.3.1',
    'the credentials in the URL',
    { body: GRANT, query: `?${CREDENTIALS}` },
    INVALID_REQUEST,
  ),
  row('must', 'RFC 6749 2.3.1', 'the grant in the URL', { body: CREDENTIALS, query: `?${GRANT}` }, INVALID_REQUEST),
  row(
    'must',
    'RFC 6749 2.3',
    'Basic beside credentials in the body',
    { body: GOOD, headers: [['authorization', 'Basic YTpi']] },
    INVALID_REQUEST,
  ),
  row(
    'ours',
    'RFC 9110 11.6.2',
    'two Authorization fields',
    {
      body: GRANT,
      headers: [
        ['authorization', 'Basic YTpi'],
        ['authorization', 'Basic YTpj'],
      ],
    },
    INVALID_REQUEST,
  ),
  row(
    'should',
    'RFC 6749 5.2',
    'a scheme that is not accepted',
    { body: GRANT, headers: [['authorization', 'Digest a=b']] },
    { ...INVALID_CLIENT, headers: { 'www-authenticate': /^Digest/ } },
  ),
  row('must', 'RFC 6749 3.3', 'a scope with a quotation mark', token(`${GOOD}&scope=%22a%22`), INVALID_SCOPE),
  row('must', 'RFC 6749 3.3', 'a scope with two spaces', token(`${GOOD}&scope=a++b`), INVALID_SCOPE),
  row('ours', 'RFC 6749 5.2', 'a scope that nobody has', token(`${GOOD}&scope=no-such-scope`), INVALID_SCOPE),
  row(
    'must',
    'RFC 8707 2',
    'a resource with a fragment',
    token(`${GOOD}&resource=https%3A%2F%2Fa.example%2F%23b`),
    INVALID_TARGET,
  ),
  row('must', 'RFC 8707 2', 'a resource that is not absolute', token(`${GOOD}&resource=%2Fapi`), INVALID_TARGET),
  row(
    'should',
    'RFC 8707 2',
    'a resource that the client may not use',
    token(`${GOOD}&resource=https%3A%2F%2Fnobody.example`),
    INVALID_TARGET,
  ),
  row(
    'must',
    'RFC 6749 B',
    'JSON instead of a form',
    typed('application/json', '{"grant_type":"client_credentials"}'),
    INVALID_REQUEST,
  ),
  row('ours', 'RFC 6749 B', 'another charset', typed(`${FORM};charset=utf-16`), INVALID_REQUEST),
  row(
    'ours',
    'contract',
    'a charset of ASCII with a character beyond it',
    typed(`${FORM};charset=iso-8859-1`, `${GOOD}&a=%C3%A9`),
    INVALID_REQUEST,
  ),
  row('ours', 'URL 5.1', 'broken percent-encoding', token(`${GOOD}&a=%zz`), INVALID_REQUEST),
  row('must', 'RFC 6749 B', 'bytes that are not UTF-8', token(`${GOOD}&a=%ff`), INVALID_REQUEST),
  row(
    'ours',
    'contract',
    'more than 50 parameters',
    token(`${GOOD}&${Array.from({ length: 50 }, (_, n) => `p${n}=1`).join('&')}`),
    INVALID_REQUEST,
  ),
  row(
    'should',
    'RFC 9110 15.5.16',
    'a compressed body',
    { body: GOOD, headers: [['content-encoding', 'gzip']] },
    { status: 415, error: 'invalid_request' },
  ),
  row('should', 'RFC 9110 15.5.14', 'a body over 16 KiB', token(`${GOOD}&a=${'x'.repeat(16_384)}`), {
    status: 413,
    error: 'invalid_request',
  }),
  row(
    'ours',
    'contract',
    'a client_id of 256 characters',
    token(`${GRANT}&client_id=${'x'.repeat(256)}&client_secret=x`),
    INVALID_REQUEST,
  ),
  row(
    'ours',
    'contract',
    'a client_id with a control character',
    token(`${GRANT}&client_id=a%0Ab&client_secret=x`),
    INVALID_REQUEST,
  ),
  row('must', 'RFC 6749 3.2.1', 'no credentials', token(GRANT), INVALID_CLIENT),
  row('ours', 'contract', 'a charset of ASCII', typed(`${FORM};charset="ISO-8859-1"`, GRANT), {
    ...INVALID_CLIENT,
    sameAs: 'no credentials',
  }),
  row(
    'ours',
    'contract',
    'an empty Authorization field counts as absent',
    { body: GRANT, headers: [['authorization', '']] },
    { ...INVALID_CLIENT, sameAs: 'no credentials' },
  ),
  row('must', 'RFC 6749 3.2.1', 'no secret', token(`${GRANT}&client_id={id}`), INVALID_CLIENT),
  row('must', 'RFC 6749 3.2.1', 'an empty secret', token(`${GRANT}&client_id={id}&client_secret=`), INVALID_CLIENT),
  row('must', 'RFC 6749 5.2', 'a wrong secret', token(`${GRANT}&client_id={id}&client_secret=wrong`), {
    ...INVALID_CLIENT,
    headers: { 'cache-control': /no-store/ },
  }),
  row(
    'ours',
    'contract',
    'an unknown client looks like a wrong secret',
    token(`${GRANT}&client_id=nobody-has-this-id&client_secret=wrong`),
    { ...INVALID_CLIENT, sameAs: 'a wrong secret' },
  ),
  row(
    'ours',
    'contract',
    'a secret over 72 bytes looks like a wrong one',
    token(`${GRANT}&client_id={id}&client_secret=${'x'.repeat(73)}`),
    { ...INVALID_CLIENT, sameAs: 'a wrong secret' },
  ),
  row('ours', 'contract', 'the right secret with a NUL behind it looks like a wrong one', token(`${GOOD}%00`), {
    ...INVALID_CLIENT,
    sameAs: 'a wrong secret',
  }),
  row(
    'ours',
    'RFC 6749 3.2',
    'GET',
    { method: 'GET', query: '' },
    { status: 405, error: 'invalid_request', headers: { allow: /^POST$/ } },
  ),
  row(
    'ours',
    'RFC 9110 15.5.6',
    'PUT',
    { method: 'PUT', body: GOOD },
    { status: 405, error: 'invalid_request', headers: { allow: /^POST$/ } },
  ),
];

/** Every other path. `{keys}` and `{metadata}` are those of the server. */
const OTHER_ROWS: readonly Row[] = [
  row(
    'ours',
    'contract',
    'a path without a token',
    { method: 'GET', path: '/no-such-path' },
    { status: 401, error: 'unauthorized', headers: { 'www-authenticate': /^Bearer$/ } },
  ),
  row(
    'ours',
    'contract',
    'the token endpoint with a slash behind it',
    { method: 'POST', path: '/oauth2/token/', body: GOOD },
    { status: 401, error: 'unauthorized' },
  ),
  row('should', 'RFC 6750 3.1', 'a token that nobody issued', bearer('/no-such-path', 'Bearer abc.def.ghi'), {
    status: 401,
    error: 'invalid_token',
    headers: { 'www-authenticate': /^Bearer error="invalid_token"/ },
  }),
  row(
    'should',
    'RFC 6750 3.1',
    'a malformed Authorization field',
    bearer('/no-such-path', 'Bearer a b'),
    BEARER_MALFORMED,
  ),
  row(
    'ours',
    'RFC 9110 11.6.2',
    'two tokens',
    {
      method: 'GET',
      path: '/no-such-path',
      headers: [
        ['authorization', 'Bearer {token}'],
        ['authorization', 'Bearer {token}'],
      ],
    },
    INVALID_REQUEST,
  ),
  row('ours', 'contract', 'an unknown path with a valid token', bearer('/no-such-path'), {
    status: 404,
    error: 'not_found',
  }),
  row('must', 'RFC 7517 5', 'the key set, with a token', bearer('/oauth2/jwks'), {
    status: 200,
    fields: { keys: /"kid"/ },
    headers: { 'content-type': /^application\/(jwk-set\+)?json/ },
  }),
  row('must', 'RFC 8414 3.2', 'the metadata, with a token', bearer('/.well-known/oauth-authorization-server'), {
    status: 200,
    fields: { issuer: /./, token_endpoint: /\/oauth2\/token$/ },
  }),
  row(
    'must',
    'RFC 9110 9.3.2',
    'HEAD of the key set',
    { ...bearer('/oauth2/jwks'), method: 'HEAD' },
    { status: 200, noBody: true },
  ),
  row(
    'ours',
    'RFC 9110 15.5.6',
    'POST to the key set',
    { ...bearer('/oauth2/jwks'), method: 'POST' },
    { status: 405, headers: { allow: /GET/ } },
  ),
];

/** At most 60 requests, 10 of them with a wrong secret: a test counts them. */
export const ROWS: readonly Row[] = [...TOKEN_ROWS, ...OTHER_ROWS];

const JWT_BEARER = 'grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer';
const INVALID_GRANT = { status: 400, error: 'invalid_grant' };

/** A JWT that nobody signed. */
function unsigned(header: object, payload: object): string {
  const parts = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return `assertion=${parts.join('.')}.c2lnbmF0dXJl`;
}

const TIMES = { exp: 4_102_444_800, jti: 'a' };
const SELF = { iss: 'an-unknown-client', sub: 'an-unknown-client', aud: 'https://nobody.example', ...TIMES };

/** For servers with the grant jwt-bearer as well. */
export const JWT_BEARER_ROWS: readonly Row[] = [
  row('must', 'RFC 7523 2.1', 'no assertion', token(JWT_BEARER), INVALID_REQUEST),
  row('must', 'RFC 6749 3.2', 'an empty assertion', token(`${JWT_BEARER}&assertion=`), INVALID_REQUEST),
  row('must', 'RFC 6749 3.2', 'an assertion twice', token(`${JWT_BEARER}&assertion=a&assertion=a`), INVALID_REQUEST),
  row('must', 'RFC 7523 3.1', 'no JWT', token(`${JWT_BEARER}&assertion=a`), INVALID_GRANT),
  row(
    'must',
    'RFC 8725 3.1',
    'an assertion without a signature',
    token(`${JWT_BEARER}&${unsigned({ alg: 'none' }, SELF)}`),
    INVALID_GRANT,
  ),
  row(
    'must',
    'RFC 7523 3.1',
    'an assertion of nobody, for somebody else',
    token(`${JWT_BEARER}&${unsigned({ alg: 'RS256' }, SELF)}`),
    INVALID_GRANT,
  ),
  row(
    'must',
    'RFC 7523 3.1',
    'an assertion without exp',
    token(`${JWT_BEARER}&${unsigned({ alg: 'RS256' }, { ...SELF, exp: undefined })}`),
    INVALID_GRANT,
  ),
  row(
    'ours',
    'RFC 7521 4.1',
    'a wrong secret beside an assertion',
    token(`${JWT_BEARER}&${unsigned({ alg: 'RS256' }, SELF)}&client_id={id}&client_secret=wrong`),
    INVALID_CLIENT,
  ),
];

const INTROSPECT = '/oauth2/introspect';
const REVOKE = '/oauth2/revoke';
const INACTIVE = { status: 200, fields: { active: /^false$/ }, without: ['sub', 'exp', 'scope', 'client_id'] };
const WRONG = 'client_id={id}&client_secret=wrong';

/** For servers with introspection and revocation as well. The last rows take the token back. */
export const REVOCATION_ROWS: readonly Row[] = [
  row('must', 'RFC 7662 2.2', 'introspection of a token', token(`${CREDENTIALS}&token={token}`, { path: INTROSPECT }), {
    status: 200,
    fields: { active: /^true$/ },
    headers: { 'content-type': /^application\/json/ },
  }),
  row(
    'must',
    'RFC 7662 2.1',
    'introspection with a hint',
    token(`${CREDENTIALS}&token={token}&token_type_hint=refresh_token`, { path: INTROSPECT }),
    { status: 200, fields: { active: /^true$/ } },
  ),
  row(
    'must',
    'RFC 7662 2.2',
    'introspection of what is no token',
    token(`${CREDENTIALS}&token=a`, { path: INTROSPECT }),
    INACTIVE,
  ),
  row(
    'must',
    'RFC 7662 2.1',
    'introspection without a token',
    token(CREDENTIALS, { path: INTROSPECT }),
    INVALID_REQUEST,
  ),
  row(
    'must',
    'RFC 7662 2.3',
    'introspection with a wrong secret',
    token(`${WRONG}&token=a`, { path: INTROSPECT }),
    INVALID_CLIENT,
  ),
  row('must', 'RFC 7009 2.1', 'revocation without a token', token(CREDENTIALS, { path: REVOKE }), INVALID_REQUEST),
  row(
    'must',
    'RFC 7009 2.1',
    'revocation with a wrong secret',
    token(`${WRONG}&token=a`, { path: REVOKE }),
    INVALID_CLIENT,
  ),
  row('must', 'RFC 7009 2.2', 'revocation of what is no token', token(`${CREDENTIALS}&token=a`, { path: REVOKE }), {
    status: 200,
  }),
  row('must', 'RFC 7009 2.2', 'revocation of a token', token(`${CREDENTIALS}&token={token}`, { path: REVOKE }), {
    status: 200,
  }),
  row(
    'must',
    'RFC 7662 2.2',
    'introspection of a token that was revoked',
    token(`${CREDENTIALS}&token={token}`, { path: INTROSPECT }),
    INACTIVE,
  ),
];
