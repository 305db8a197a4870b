import {
  badRequest,
  closing,
  FORM,
  FORM_TYPE,
  get,
  type HostileRequest,
  LOCATION,
  MALFORMED,
  notAllowed,
  refused,
  request,
  TOKEN,
  UNAUTHORIZED,
} from './hostile-request.ts';

const HOST = badRequest('host_malformed');
const BESIDE = badRequest('authorization_beside_body');
const TOO_LARGE = refused(431, 'invalid_request', 'header_fields_too_large');

const method = (name: string, verb: string, target: string, response: typeof MALFORMED) =>
  closing(name, request(`${verb} ${target} HTTP/1.1`, ['Host: x', 'Connection: close']), response);

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

const target = (name: string, text: string, response = UNAUTHORIZED) => closing(name, get(text), response);
const tokenTarget = (name: string, text: string, response = TOKEN) =>
  closing(
    name,
    request(
      `POST ${text} HTTP/1.1`,
      ['Host: x', `Content-Type: ${FORM_TYPE}`, `Content-Length: ${FORM.length}`, 'Connection: close'],
      FORM,
    ),
    response,
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

const hosted = (name: string, fields: readonly string[], response = HOST) =>
  closing(name, request('GET / HTTP/1.1', [...fields, 'Connection: close']), response);

/** Host (RFC 9112 section 3.2), whose value is never used. */
export const HOSTS: readonly HostileRequest[] = [
  hosted('no Host', []),
  hosted('two Hosts', ['Host: a', 'Host: b']),
  hosted('one Host twice', ['Host: a', 'HOST: a']),
  hosted('99 Hosts', Array(99).fill('Host: a')),
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

const flood = (name: string, fields: readonly string[], response = UNAUTHORIZED) =>
  closing(name, get('/', fields), response);

/** A header section of so many bytes, without the empty line behind it. */
const section = (bytes: number) => {
  const fixed = 'Host: x\r\nConnection: close\r\nX: \r\n'.length;
  return get('/', [`X: ${'a'.repeat(bytes - fixed)}`]);
};
/** A request with so many header fields, of which the last one decides. */
const last = (fields: number, field: string, body = FORM) => {
  const before = ['Host: x', `Content-Type: ${FORM_TYPE}`, 'Connection: close'];
  if (!field.startsWith('Transfer-Encoding')) before.push(`Content-Length: ${FORM.length}`);
  const more = Array<string>(fields - before.length - 1).fill('A:');
  return request('POST /oauth2/token HTTP/1.1', [...before, ...more, field], body);
};
const CHUNKED_FORM = `${FORM.length.toString(16)}\r\n${FORM}\r\n0\r\n`;
const trailers = (name: string, fields: readonly string[], ...answers: readonly (typeof TOKEN)[]) => {
  const head = ['Host: x', `Content-Type: ${FORM_TYPE}`, 'Transfer-Encoding: chunked', 'Connection: close'];
  const body = `${CHUNKED_FORM}${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
  return closing(name, request('POST /oauth2/token HTTP/1.1', head, body), ...answers);
};

/**
 * Header sections near the limits of 8 KiB and 100 fields. Node.js may drop what is beyond: no row with 101 is
 * accepted.
 */
export const HEADER_FLOODS: readonly HostileRequest[] = [
  closing('8 KiB', section(8_192), UNAUTHORIZED),
  closing('8 KiB and a byte', section(8_193), TOO_LARGE),
  flood('a field of 17 KiB', [`X: ${'a'.repeat(17_000)}`], TOO_LARGE),
  flood('the name of a field of 9 KiB', [`${'a'.repeat(9_000)}: x`], TOO_LARGE),
  flood('9 KiB in 90 fields', Array(90).fill(`X: ${'a'.repeat(97)}`), TOO_LARGE),
  flood('98 empty fields, 100 in all', Array(98).fill('A:')),
  flood('99 empty fields, 101 in all', Array(99).fill('A:'), TOO_LARGE),
  flood('100 empty fields, 102 in all', Array(100).fill('A:'), TOO_LARGE),
  flood('900 empty fields', Array(900).fill('A:'), TOO_LARGE),
  flood('2,100 empty fields, of which Node.js would show 2,000', Array(2_100).fill('A:'), TOO_LARGE),
  flood('98 cookies', Array(98).fill('Cookie: a=b')),
  flood('an address of a client in 98 fields', Array(98).fill('X-Forwarded-For: 192.0.2.1')),
  closing(
    'a Content-Encoding as the 100th field',
    last(100, 'Content-Encoding: gzip'),
    refused(415, 'invalid_request', 'content_encoding_unsupported'),
  ),
  closing('an Authorization as the 100th field', last(100, 'Authorization: Basic x'), BESIDE),
  closing('a second Host as the 100th field', last(100, 'Host: b'), HOST),
  closing('chunks as the 100th field', last(100, 'Transfer-Encoding: chunked', `${CHUNKED_FORM}\r\n`), TOKEN),
  ...[101, 102, 103, 140].flatMap((fields) => [
    closing(`a Content-Encoding as field ${fields}`, last(fields, 'Content-Encoding: gzip'), TOO_LARGE),
    closing(`an Authorization as field ${fields}`, last(fields, 'Authorization: Basic x'), TOO_LARGE),
    closing(`a second Host as field ${fields}`, last(fields, 'Host: b'), TOO_LARGE),
    closing(`chunks as field ${fields}`, last(fields, 'Transfer-Encoding: chunked', `${CHUNKED_FORM}\r\n`), TOO_LARGE),
  ]),
  closing(
    'a tunnel with 101 fields',
    request('CONNECT x:443 HTTP/1.1', ['Host: x:443', ...Array(100).fill('A:')]),
    TOO_LARGE,
  ),
  trailers('100 fields behind a body', Array(100).fill('A:'), TOKEN),
  trailers('101 fields behind a body', Array(101).fill('A:'), TOO_LARGE),
  trailers('900 fields behind a body', Array(900).fill('A:'), TOO_LARGE),
  trailers('9 KiB behind a body', [`X: ${'a'.repeat(9_000)}`], TOO_LARGE),
];
