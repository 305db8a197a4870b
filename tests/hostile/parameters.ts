import {
  badRequest,
  CREDENTIALS,
  closing,
  FORM,
  type HostileRequest,
  invalidClient,
  openlyRefused,
  post,
  refused,
  TOKEN,
  tokenRequest,
  utf8,
} from './hostile-request.ts';

const BODY_MAX = 16 * 1024;
const NO_GRANT = badRequest('grant_type_missing');
const OTHER_GRANT = refused(400, 'unsupported_grant_type', 'grant_type_unsupported');
const TWICE = badRequest('parameter_repeated');
const TOO_MANY = badRequest('parameters_too_many');
const TOO_LARGE = refused(413, 'invalid_request', 'content_too_large');
const NO_SCOPE = refused(400, 'invalid_scope', 'scope_malformed');
const OTHER_SCOPE = refused(400, 'invalid_scope', 'scope_not_registered');
const NO_TARGET = refused(400, 'invalid_target', 'resource_malformed');
const OTHER_TARGET = refused(400, 'invalid_target', 'resource_not_registered');
const UNKNOWN = invalidClient('client_unknown');
const MISSING = invalidClient('credentials_missing');
const WRONG = invalidClient('secret_wrong');

const body = (name: string, text: string, response = TOKEN) => closing(name, post(text), response);
const clientId = (name: string, id: string, response = UNKNOWN) =>
  body(name, `grant_type=client_credentials&client_secret=good-secret&client_id=${id}`, response);
const secret = (name: string, text: string, response = WRONG) =>
  body(name, `grant_type=client_credentials&client_id=wronged-client&client_secret=${text}`, response);
const grant = (name: string, type: string, response = OTHER_GRANT) =>
  body(name, `${CREDENTIALS}&grant_type=${type}`, response);
const scope = (name: string, text: string, response = NO_SCOPE) => body(name, `${FORM}&scope=${text}`, response);
const resource = (name: string, text: string, response = NO_TARGET) => body(name, `${FORM}&resource=${text}`, response);
const query = (name: string, text: string, response = badRequest('credentials_in_query')) =>
  closing(name, post(FORM, [], text), response);
const chunked = (text: string) =>
  tokenRequest(
    ['Transfer-Encoding: chunked', 'Connection: close'],
    `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
  );
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `p${index}=1`).join('&');

/** The same form, read in another way by a careless parser. */
export const PARAMETERS: readonly HostileRequest[] = [
  body('an empty body', '', NO_GRANT),
  body('a thousand separators', '&'.repeat(1_000), NO_GRANT),
  body('separators around the parameters', `&&&${FORM}&&`),
  body('a parameter without a name', `=&${FORM}`),
  body('two parameters without a name', `=&=1&${FORM}`, TWICE),
  body('semicolons as separators', FORM.replaceAll('&', ';'), OTHER_GRANT),
  body('line breaks as separators', FORM.replaceAll('&', '\r\n'), OTHER_GRANT),
  body('a line break behind the last value', `${FORM}\r\n`, badRequest('form_ends_with_line_break')),
  body('a second equals sign, which belongs to the value', `${FORM}=`, WRONG),
  body('names of arrays', FORM.replaceAll('=', '[]='), NO_GRANT),
  body('a secret in an array beside the right one', `${FORM}&client_secret[]=other-secret&client_secret[0]=x`),
  body('a client id as an object beside the right one', `${FORM}&client_id[a]=b&client_id.c=d`),
  body('a client id as an object alone', FORM.replace('client_id', 'client_id[$ne]'), MISSING),
  body('names that every object has', `${FORM}&__proto__=1&constructor=1&toString=1&hasOwnProperty=1&then=1`),
  body('a client id through the prototype', `${FORM.replace('client_id', '__proto__[client_id]')}`, MISSING),
  body('a name that every object has, twice', `${FORM}&__proto__=1&__proto__=1`, TWICE),
  body('a secret twice', `${FORM}&client_secret=good-secret`, TWICE),
  body('a client id twice, the first empty', `client_id=&${FORM}`, TWICE),
  body('a client id twice, once without a value', `${FORM}&client_id`, TWICE),
  body('a grant type twice, once percent-encoded', `${FORM}&grant%5Ftype=password`, TWICE),
  body('an unknown parameter twice', `${FORM}&x=1&x=2`, TWICE),
  body('a name in upper case', FORM.replace('client_id', 'CLIENT_ID'), MISSING),
  body('a name in two cases', `${FORM}&Client_Id=other`),
  body('a name with a space before it', `+${FORM}`, NO_GRANT),
  body('50 parameters', `${FORM}&${numbered(47)}`),
  body('51 parameters', `${FORM}&${numbered(48)}`, TOO_MANY),
  body('50 parameters and empty ones', `${FORM}&&&${numbered(47)}&&`),
  body('8,000 parameters in 16 KiB', `${FORM}${'&a'.repeat(8_000)}`, TOO_MANY),
  body('16 KiB', `${FORM}&x=`.padEnd(BODY_MAX, 'x')),
  body('16 KiB and a byte', `${FORM}&x=`.padEnd(BODY_MAX + 1, 'x'), TOO_LARGE),
  closing('16 KiB in a chunk', chunked(`${FORM}&x=`.padEnd(BODY_MAX, 'x')), TOKEN),
  closing('16 KiB and a byte in a chunk', chunked(`${FORM}&x=`.padEnd(BODY_MAX + 1, 'x')), TOO_LARGE),
  body('16 KiB of percent signs', `${FORM}&x=`.padEnd(BODY_MAX, '%'), badRequest('form_encoding_malformed')),
  body(
    'an assertion in place of the secret',
    'grant_type=client_credentials&client_id=good-client&client_assertion=x',
    openlyRefused('method_unsupported'),
  ),
];

/** Client ids and secrets that mean something to a database, a log, a template or a parser. */
export const CREDENTIAL_VALUES: readonly HostileRequest[] = [
  clientId('a client id in upper case', 'GOOD-CLIENT'),
  clientId('a client id with a space behind it', 'good-client+'),
  clientId('a client id of one space', '+'),
  clientId('a client id of 255 characters', 'a'.repeat(255)),
  clientId('a client id of 255 characters of four bytes', utf8('😀'.repeat(255))),
  clientId('a client id of 256 characters', 'a'.repeat(256), badRequest('client_id_malformed')),
  clientId('a client id of 256 characters of four bytes', utf8('😀'.repeat(256)), badRequest('client_id_malformed')),
  clientId('an empty client id', '', MISSING),
  clientId('SQL as a client id', "'+OR+'1'='1"),
  clientId('SQL that ends the statement', "good-client';drop+table+clients;--"),
  clientId('a wildcard of SQL', '%25'),
  clientId('a pattern of SQL', 'good_client'),
  clientId('a path', '../../../../etc/passwd'),
  clientId('a template', '$%7B7*7%7D%7B%7B7*7%7D%7D'),
  clientId('a look-up of Log4j', '$%7Bjndi:ldap://x/a%7D'),
  clientId('a format', '%25s%25n%25d'),
  clientId('markup', '%3Cscript%3Ealert(1)%3C/script%3E'),
  clientId('a name that every object has as a client id', '__proto__'),
  clientId('a method that every object has as a client id', 'constructor'),
  secret('a secret of 72 bytes', 's'.repeat(72)),
  secret('a secret of 73 bytes', 's'.repeat(73), invalidClient('presented_secret_unusable')),
  secret('a secret of 74 bytes in 37 characters', utf8('é'.repeat(37)), invalidClient('presented_secret_unusable')),
  secret('a secret of 15 KiB', 's'.repeat(15_000), invalidClient('presented_secret_unusable')),
  secret('the stored hash as the secret', '$2b$04$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy'),
  secret('the right secret with a prefix', '%7Bnoop%7Dgood-secret'),
  secret('a secret of one space', '+'),
  secret('an empty secret', '', MISSING),
];

/** Grants, scopes and resources that nobody may have, and credentials where they end up in logs. */
export const GRANTS_AND_SCOPES: readonly HostileRequest[] = [
  grant('the password grant', 'password&username=x&password=y'),
  grant('a refresh token', 'refresh_token&refresh_token=x'),
  grant('a code', 'authorization_code&code=x'),
  grant('a token exchange', 'urn:ietf:params:oauth:grant-type:token-exchange'),
  grant('a JWT as a grant', 'urn:ietf:params:oauth:grant-type:jwt-bearer'),
  grant('the grant in upper case', 'CLIENT_CREDENTIALS'),
  grant('the grant with a plus for its underscore', 'client+credentials'),
  grant('the grant with a space behind it', 'client_credentials+'),
  grant('the grant with a line feed behind it', 'client_credentials%0a'),
  grant('two grants', 'client_credentials+password'),
  grant('an empty grant', '', NO_GRANT),
  scope('a scope that is not registered', 'admin', OTHER_SCOPE),
  scope('a registered and another scope', 'read+admin', OTHER_SCOPE),
  scope('a scope in upper case', 'READ', OTHER_SCOPE),
  scope('every scope', '*', OTHER_SCOPE),
  scope('two scopes with a comma', 'read,write', OTHER_SCOPE),
  scope('8,000 scopes', Array(8_000).fill('a').join('+').slice(0, 15_999), OTHER_SCOPE),
  scope('a scope of one space', '+'),
  scope('two spaces between scopes', 'read++write'),
  scope('a tab between scopes', 'read%09write'),
  scope('a quotation mark', 'read%22'),
  scope('a backslash', 'read%5c'),
  scope('a letter beyond ASCII', utf8('lés')),
  scope('a NUL behind a scope', 'read%00'),
  scope('an empty scope, which counts as absent', '', TOKEN),
  scope('one scope three times', 'read+read+read', TOKEN),
  resource('an empty resource, which counts as absent', '', TOKEN),
  resource('empty resources, which count as absent', '&resource=&resource', TOKEN),
  resource('a resource that is not registered', 'https://api.test', OTHER_TARGET),
  resource('47 resources', Array(47).fill('https://api.test').join('&resource='), OTHER_TARGET),
  resource('48 resources', Array(48).fill('https://api.test').join('&resource='), TOO_MANY),
  resource('a resource that is not registered beside a malformed one', 'https://api.test&resource=api'),
  resource('a relative resource', '/api'),
  resource('a resource without a scheme', '//api.test'),
  resource('a resource with a fragment', 'https://api.test%23a'),
  resource('a resource with an empty fragment', 'https://api.test%23'),
  resource('a resource with a space', 'https://api.test/a+b'),
  resource('a resource with a line feed', 'https://api.test%0aresource=x'),
  resource('a resource with a NUL', 'https://api.test%00'),
  resource('a resource beyond ASCII', utf8('https://äpi.test')),
  resource('a resource with a broken percent-encoding of its own', 'https://api.test/%25zz'),
  resource('a resource of 15 KiB', 'https://api.test/'.padEnd(15_000, 'a')),
  resource('a resource that is a script', 'javascript:alert(1)', OTHER_TARGET),
  resource('SQL as a resource', "https://api.test/'or'1'='1", OTHER_TARGET),
  resource('the id of the client as a resource', 'good-client'),
  body('a resource in an array', `${FORM}&resource[]=https://api.test`),
  body('a resource as an object', `${FORM}&resource[a]=https://api.test`),
  body(
    'a wrong secret beside a resource',
    `grant_type=client_credentials&client_id=wronged-client&client_secret=x&resource=https://api.test`,
    WRONG,
  ),
  query('a resource in the query, which is no part of the body', '?resource=https://api.test', TOKEN),
  query('a secret in the query', '?client_secret=good-secret'),
  query('a client id in the query', '?client_id=good-client'),
  query('a grant type without a value in the query', '?grant_type'),
  query('a name in the query that is percent-encoded', '?client%5fsecret=good-secret'),
  query('a question mark before the name', '??client_id=x'),
  query('a broken percent-encoding before the name', '?%zz&client_secret=good-secret'),
  query('a secret behind a semicolon in the query', '?x=1;client_secret=good-secret', TOKEN),
  query('an unknown name in the query', '?__proto__=1&%00=%ff', TOKEN),
];
