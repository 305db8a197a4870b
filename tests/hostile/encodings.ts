import { gzipSync } from 'node:zlib';
import {
  badRequest,
  CREDENTIALS,
  closing,
  FORM,
  FORM_TYPE,
  type HostileRequest,
  invalidClient,
  post,
  refused,
  request,
  TOKEN,
  tokenRequest,
  utf8,
} from './hostile-request.ts';

const MALFORMED_FORM = badRequest('form_encoding_malformed');
const OTHER_TYPE = badRequest('content_type_unsupported');
const ENCODED = refused(415, 'invalid_request', 'content_encoding_unsupported');

/** A value behind a right form, of a parameter that nobody knows. */
const unknownParameter = (name: string, value: string, response = MALFORMED_FORM) =>
  closing(name, post(`${FORM}&x=${value}`), response);

/** Percent-encoding and UTF-8, which two parsers must not read in two ways. */
export const ENCODINGS: readonly HostileRequest[] = [
  unknownParameter('a percent sign at the end', '%'),
  unknownParameter('a percent-encoding of one digit', '%1'),
  unknownParameter('a percent-encoding that is not hexadecimal', '%zz'),
  unknownParameter('a percent-encoding with a sign', '%-1'),
  unknownParameter('a percent-encoding with a space', '% 41'),
  unknownParameter('a percent-encoding with a plus', '%+1'),
  unknownParameter('the percent-encoding of JavaScript’s escape()', '%u0041'),
  unknownParameter('a percent sign before a percent-encoding', '%%30'),
  unknownParameter('a percent-encoding split by a separator', '%&y=41'),
  unknownParameter('a percent-encoded byte that never is in UTF-8', '%ff'),
  unknownParameter('a percent-encoded continuation byte alone', '%80'),
  unknownParameter('a percent-encoded character that ends early', '%c2'),
  unknownParameter('an overlong slash of two bytes', '%c0%af'),
  unknownParameter('an overlong NUL, as Java writes it', '%c0%80'),
  unknownParameter('an overlong slash of three bytes', '%e0%80%af'),
  unknownParameter('an overlong slash of four bytes', '%f0%80%80%af'),
  unknownParameter('a high surrogate', '%ed%a0%80'),
  unknownParameter('a low surrogate', '%ed%b0%80'),
  unknownParameter('a surrogate pair, as CESU-8 has it', '%ed%a0%bd%ed%b8%80'),
  unknownParameter('a code point beyond the last one', '%f4%90%80%80'),
  unknownParameter('a sequence of five bytes', '%f8%88%80%80%80'),
  unknownParameter('a byte that never is in UTF-8', '\xff'),
  unknownParameter('an overlong slash in bytes', '\xc0\xaf'),
  unknownParameter('a surrogate in bytes', '\xed\xa0\x80'),
  unknownParameter('a character half in bytes and half percent-encoded', '\xc3%a9'),
  unknownParameter('a character half percent-encoded and half in bytes', '%c3\xa9'),
  unknownParameter('a broken encoding in the name of a parameter', 'y&%zz=1'),
  unknownParameter('a NUL in a parameter that nobody reads', '%00', TOKEN),
  unknownParameter('a character that is not assigned', '%ef%bf%bf', TOKEN),
  closing(
    'a body in UTF-16',
    post([...FORM].map((character) => `${character}\0`).join('')),
    badRequest('grant_type_missing'),
  ),
  closing('a body in UTF-16 with its byte order mark', post(`\xff\xfe${FORM}`), MALFORMED_FORM),
  closing('a byte order mark before the first name', post(utf8(`\ufeff${FORM}`)), badRequest('grant_type_missing')),
  closing('a byte order mark, percent-encoded', post(`%ef%bb%bf${FORM}`), badRequest('grant_type_missing')),
  closing(
    'a byte order mark before the secret',
    post(FORM.replace('=good-secret', '=%ef%bb%bfgood-secret')),
    invalidClient('secret_wrong'),
  ),
  closing('the byte order mark of UTF-7', post(`+/v8-${FORM}`), badRequest('grant_type_missing')),
  closing(
    'a secret that is percent-encoded twice',
    post(FORM.replace('good-secret', 'good%252dsecret')),
    invalidClient('secret_wrong'),
  ),
  closing(
    'names that are percent-encoded throughout',
    post(FORM.replace('grant_type', '%67%72%61%6E%74%5f%74ype')),
    TOKEN,
  ),
  closing(
    'a grant type in wide letters',
    post(utf8(FORM.replace('=client_', '=ｃlient_'))),
    refused(400, 'unsupported_grant_type', 'grant_type_unsupported'),
  ),
  closing(
    'a grant type with a NUL behind it',
    post(FORM.replace('client_credentials', 'client_credentials%00')),
    refused(400, 'unsupported_grant_type', 'grant_type_unsupported'),
  ),
  closing(
    'a client id with a hyphen of Unicode',
    post(utf8(FORM.replace('good-client', 'good‐client'))),
    invalidClient('client_unknown'),
  ),
  closing(
    'a client id with a joiner of no width',
    post(utf8(FORM.replace('good-client', 'good\u200d-client'))),
    invalidClient('client_unknown'),
  ),
  closing(
    'a client id with a letter of Cyrillic',
    post(utf8(FORM.replace('good-client', 'gооd-client'))),
    invalidClient('client_unknown'),
  ),
  closing(
    'a client id with a NUL behind it',
    post(FORM.replace('good-client', 'good-client%00')),
    badRequest('client_id_malformed'),
  ),
  closing(
    'a client id with a line break, for the log',
    post(FORM.replace('good-client', 'x%0d%0a%7b%22level%22%3a%22error%22%7d')),
    badRequest('client_id_malformed'),
  ),
  closing(
    'a client id with DEL',
    post(FORM.replace('good-client', 'good%7fclient')),
    badRequest('client_id_malformed'),
  ),
  closing(
    'a client id with a control character beyond ASCII',
    post(FORM.replace('good-client', 'good%c2%9bclient')),
    badRequest('client_id_malformed'),
  ),
  closing(
    'a client id with quotation marks, for the log',
    post(FORM.replace('good-client', 'x%22,%22level%22:%22error')),
    invalidClient('client_unknown'),
  ),
  closing('the right secret with a NUL behind it', post(`${FORM}%00`), invalidClient('presented_secret_unusable')),
  closing('the right secret with a line feed behind it', post(`${FORM}%0a`), invalidClient('secret_wrong')),
  closing(
    'a name with a NUL behind it',
    post(FORM.replace('client_secret', 'client_secret%00')),
    invalidClient('credentials_missing'),
  ),
];

const typed = (name: string, type: string, response = OTHER_TYPE, body = FORM) =>
  closing(
    name,
    request(
      'POST /oauth2/token HTTP/1.1',
      ['Host: x', `Content-Type: ${type}`, `Content-Length: ${body.length}`, 'Connection: close'],
      body,
    ),
    response,
  );
const JSON_BODY = JSON.stringify({
  grant_type: 'client_credentials',
  client_id: 'good-client',
  client_secret: 'good-secret',
});
const MULTIPART_BODY = '--b\r\nContent-Disposition: form-data; name="client_secret"\r\n\r\ngood-secret\r\n--b--\r\n';

/** Media types that another parser could take for a form, and charsets in which the bytes would mean something else. */
export const MEDIA_TYPES: readonly HostileRequest[] = [
  typed('charset UTF-16', `${FORM_TYPE}; charset=utf-16le`),
  typed('charset UTF-8 with something behind it', `${FORM_TYPE}; charset=utf-8x`),
  typed('charset UTF-7', `${FORM_TYPE}; charset=utf-7`),
  typed('charset ISO-8859-1 in the form of RFC 8187', `${FORM_TYPE}; charset*=iso-8859-1`),
  typed('two charsets of ASCII alone', `${FORM_TYPE}; charset=us-ascii; charset=utf-7`),
  typed('a charset without a value', `${FORM_TYPE}; charset=`),
  typed('a charset in single quotes', `${FORM_TYPE}; charset='utf-8'`),
  typed('a charset whose quotation does not end', `${FORM_TYPE}; charset="utf-8`),
  typed('a charset with a space before it', `${FORM_TYPE}; charset =utf-8`),
  typed('a charset in the form of RFC 8187', `${FORM_TYPE}; charset*=utf-8''utf-7`),
  typed('two charsets', `${FORM_TYPE}; charset=utf-8; charset=utf-16`),
  typed('two media types in one field', `${FORM_TYPE}, application/json`),
  typed('a media type with a suffix', `${FORM_TYPE}+json`),
  typed('a range of media types', '*/*'),
  typed('a media type in a comment', `text/plain (${FORM_TYPE})`),
  typed('a media type as a parameter', `text/plain; type=${FORM_TYPE}`),
  typed('JSON', 'application/json', OTHER_TYPE, JSON_BODY),
  typed('a multipart form', 'multipart/form-data; boundary=b', OTHER_TYPE, MULTIPART_BODY),
  typed('plain text', 'text/plain'),
  typed('an empty media type', ''),
  typed('a media type in upper case', FORM_TYPE.toUpperCase(), TOKEN),
  typed('a semicolon without a parameter', `${FORM_TYPE};`, TOKEN),
  typed('UTF-8 in quotation marks and upper case', `${FORM_TYPE}; CHARSET="UTF-8"`, TOKEN),
  closing(
    'no media type',
    request('POST /oauth2/token HTTP/1.1', ['Host: x', `Content-Length: ${FORM.length}`, 'Connection: close'], FORM),
    OTHER_TYPE,
  ),
  closing('a second Content-Type', post(FORM, ['Content-Type: application/json']), badRequest('content_type_repeated')),
  closing('JSON in a body that is called a form', post(JSON_BODY), badRequest('grant_type_missing')),
];

const encoded = (name: string, value: string, response = ENCODED) =>
  closing(name, post(FORM, [`Content-Encoding: ${value}`]), response);

/** Codings of the body, which cost memory and native code before anybody has authenticated. */
export const CONTENT_CODINGS: readonly HostileRequest[] = [
  closing('a body in gzip', post(gzipSync(FORM).toString('latin1'), ['Content-Encoding: gzip']), ENCODED),
  closing(
    'a body of 15 MB in gzip',
    post(gzipSync(Buffer.alloc(15_000_000)).toString('latin1'), ['Content-Encoding: gzip']),
    ENCODED,
  ),
  encoded('a body called br', 'br'),
  encoded('a body called deflate, in upper case', 'DEFLATE'),
  encoded('a body called zstd', 'zstd'),
  encoded('an unknown coding', 'good-secret'),
  encoded('identity, and gzip', 'identity, gzip'),
  encoded('an empty coding', ''),
  encoded('identity with a weight', 'identity;q=1'),
  encoded('two fields, of which the second is gzip', 'identity\r\nContent-Encoding: gzip'),
  encoded('identity in upper case', 'IDENTITY', TOKEN),
  closing(
    'a coding of a body that has no length',
    tokenRequest(['Content-Encoding: gzip', 'Connection: close']),
    ENCODED,
  ),
  closing(
    'a coding beside credentials in the query',
    post(CREDENTIALS, ['Content-Encoding: gzip'], '?client_id=x'),
    badRequest('credentials_in_query'),
  ),
];
