import {
  badRequest,
  closing,
  FORM,
  FORM_TYPE,
  get,
  type HostileRequest,
  keeping,
  LOCATION,
  MALFORMED,
  notAllowed,
  post,
  refused,
  request,
  TOKEN,
  UNAUTHORIZED,
} from './hostile-request.ts';

const HOST = badRequest('host_malformed');
const TOO_LARGE = refused(431, 'invalid_request', 'header_fields_too_large');

const method = (name: string, verb: string, target: string, answer: typeof MALFORMED) =>
  closing(name, request(`${verb} ${target} HTTP/1.1`, ['Host: x', 'Connection: close']), answer);

/** Methods that a route does not have, that nobody has, and that other servers give a meaning of their own. */
export const METHODS: readonly HostileRequest[] = [
  method('a method in lower case', 'post', '/oauth2/token', MALFORMED),
  method('an unknown method', 'BREW', '/oauth2/token', MALFORMED),
  method('a method that begins like POST', 'POSTX', '/oauth2/token', MALFORMED),
  method('a method of 20 KiB', 'M'.repeat(20_000), '/oauth2/token', MALFORMED),
  method('a method that is a secret', 'good-secret', '/oauth2/token', MALFORMED),
  method('TRACE, which would return the fields', 'TRACE', '/oauth2/token', notAllowed('POST')),
  method('OPTIONS for the token endpoint', 'OPTIONS', '/oauth2/token', notAllowed('POST')),
  method('OPTIONS for the server', 'OPTIONS', '*', UNAUTHORIZED),
  method('a method of WebDAV', 'PROPFIND', '/oauth2/token', notAllowed('POST')),
  method('a method of caches', 'PURGE', '/oauth2/token', notAllowed('POST')),
  method('QUERY', 'QUERY', '/oauth2/token', notAllowed('POST')),
  method('PUT', 'PUT', '/oauth2/token', notAllowed('POST')),
  method('HEAD', 'HEAD', '/oauth2/token', { ...notAllowed('POST'), isHead: true }),
  method('a tunnel', 'CONNECT', 'x:443', UNAUTHORIZED),
  method('a tunnel to the token endpoint', 'CONNECT', '/oauth2/token', UNAUTHORIZED),
  closing(
    'a method in a field',
    request(`GET ${LOCATION} HTTP/1.1`, ['Host: x', 'X-HTTP-Method-Override: POST', 'Connection: close']),
    UNAUTHORIZED,
  ),
];

const target = (name: string, text: string, answer = UNAUTHORIZED) => closing(name, get(text), answer);
const tokenTarget = (name: string, text: string, answer = TOKEN) =>
  closing(
    name,
    request(
      `POST ${text} HTTP/1.1`,
      ['Host: x', `Content-Type: ${FORM_TYPE}`, `Content-Length: ${FORM.length}`, 'Connection: close'],
      FORM,
    ),
    answer,
  );

/** Targets that a careless router takes for the token endpoint, or for a public path. */
export const TARGETS: readonly HostileRequest[] = [
  tokenTarget('the whole URL of another host', 'http://evil.test/oauth2/token'),
  tokenTarget('the whole URL in upper case', 'HTTP://EVIL.TEST/oauth2/token'),
  tokenTarget('a URL with a user', 'http://user:good-secret@x/oauth2/token'),
  tokenTarget('a URL of another scheme', 'ftp://x/oauth2/token', MALFORMED),
  tokenTarget('a URL without a host', 'http:///oauth2/token', MALFORMED),
  tokenTarget('a path without a slash', 'oauth2/token', MALFORMED),
  tokenTarget('two slashes, which begin an authority', '//x/oauth2/token', UNAUTHORIZED),
  tokenTarget('two slashes within', '/oauth2//token', UNAUTHORIZED),
  tokenTarget('a slash at the end', '/oauth2/token/', UNAUTHORIZED),
  tokenTarget('upper case', '/OAUTH2/TOKEN', UNAUTHORIZED),
  tokenTarget('dots', '/x/../oauth2/token', UNAUTHORIZED),
  tokenTarget('dots, percent-encoded', '/x/%2e%2e/oauth2/token', UNAUTHORIZED),
  tokenTarget('a letter, percent-encoded', '/oauth2/%74oken', UNAUTHORIZED),
  tokenTarget('a slash, percent-encoded', '/oauth2%2ftoken', UNAUTHORIZED),
  tokenTarget('a NUL, percent-encoded', '/oauth2/token%00', UNAUTHORIZED),
  tokenTarget('a line break, percent-encoded', '/oauth2/token%0d%0aX:%20y', UNAUTHORIZED),
  tokenTarget('a parameter of a path', '/oauth2/token;jsessionid=1', UNAUTHORIZED),
  tokenTarget('a fragment', '/oauth2/token#x', MALFORMED),
  tokenTarget('a backslash in a path', '/oauth2\\token', MALFORMED),
  tokenTarget('a NUL', '/oauth2/token\0', MALFORMED),
  target('a percent sign', '/%'),
  target('a percent-encoding that is not UTF-8', '/v1/locations/%E0%A4%A'),
  target('a percent-encoding in a path that is not hexadecimal', '/v1/locations/%zz'),
  target('a path of 8 KiB', `/${'a'.repeat(8_000)}`),
  target('a path of 20 KiB', `/${'a'.repeat(20_000)}`, TOO_LARGE),
  target('4,000 segments', '/a'.repeat(4_000)),
  target('a path as it is in a file system', '/../../../../etc/passwd'),
  target('a path of the management port', '/metrics'),
  target('an asterisk', '*'),
  target('an authority', 'x:443', MALFORMED),
  target('a secret as a path', '/good-secret'),
];

const hosted = (name: string, fields: readonly string[], answer = HOST) =>
  closing(name, request('GET / HTTP/1.1', [...fields, 'Connection: close']), answer);

/** Host (RFC 9112 section 3.2), whose value is never used. */
export const HOSTS: readonly HostileRequest[] = [
  hosted('no Host', []),
  hosted('two Hosts', ['Host: a', 'Host: b']),
  hosted('one Host twice', ['Host: a', 'HOST: a']),
  hosted('a hundred Hosts', Array(100).fill('Host: a')),
  hosted('a Host with a space', ['Host: a b']),
  hosted('a Host with a path', ['Host: a/b']),
  hosted('a Host with a user', ['Host: u@a']),
  hosted('a Host with a tab', ['Host: a\tb']),
  hosted('a Host beyond ASCII', ['Host: \xe9.test']),
  hosted('a Host with markup', ['Host: <a>']),
  hosted('a Host of 8 KiB', [`Host: ${'a'.repeat(8_000)}`], UNAUTHORIZED),
  hosted(
    'the Host of another service',
    ['Host: evil.test', 'X-Forwarded-Host: evil.test', 'Forwarded: host=evil.test'],
    UNAUTHORIZED,
  ),
];

const flood = (name: string, fields: readonly string[], answer = UNAUTHORIZED) =>
  closing(name, get('/', fields), answer);

/** Header sections near the limit of 16 KiB. */
export const HEADER_FLOODS: readonly HostileRequest[] = [
  flood('a field of 17 KiB', [`X: ${'a'.repeat(17_000)}`], TOO_LARGE),
  flood('the name of a field of 17 KiB', [`${'a'.repeat(17_000)}: x`], TOO_LARGE),
  flood('17 KiB in a thousand fields', Array(1_000).fill('X: 34567890123456'), TOO_LARGE),
  flood('a field of 15 KiB', [`X: ${'a'.repeat(15_000)}`]),
  flood('900 empty fields', Array(900).fill('A:')),
  flood('900 cookies', Array(900).fill('Cookie: a=b')),
  flood('2,100 empty fields, of which Node.js would show 2,000', Array(2_100).fill('A:'), TOO_LARGE),
  flood('an address of a client in 100 fields', Array(100).fill('X-Forwarded-For: 192.0.2.1')),
  closing(
    'a Content-Encoding behind 900 fields',
    post(FORM, [...Array(900).fill('A:'), 'Content-Encoding: gzip']),
    refused(415, 'invalid_request', 'content_encoding_unsupported'),
  ),
  closing(
    'an Authorization behind 900 fields',
    post(FORM, [...Array(900).fill('A:'), 'Authorization: Basic x']),
    badRequest('authorization_beside_body'),
  ),
  closing('a second Host behind 900 fields', post(FORM, [...Array(900).fill('A:'), 'Host: b']), HOST),
  keeping(
    'chunks behind 900 fields',
    request(
      'POST /oauth2/token HTTP/1.1',
      ['Host: x', `Content-Type: ${FORM_TYPE}`, ...Array(900).fill('A:'), 'Transfer-Encoding: chunked'],
      `${FORM.length.toString(16)}\r\n${FORM}\r\n0\r\n\r\n`,
    ),
    TOKEN,
  ),
];
