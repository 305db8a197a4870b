import {
  badRequest,
  closing,
  FORM,
  get,
  type HostileRequest,
  keeping,
  MALFORMED,
  notAllowed,
  post,
  refused,
  request,
  SMUGGLED,
  TOKEN,
  tokenRequest,
  UNAUTHORIZED,
} from './hostile-request.ts';

const { length: LENGTH } = FORM;
const HEX = LENGTH.toString(16);
const CHUNKED = 'Transfer-Encoding: chunked';

/** A framing that must end the connection: what follows it is not read as a request. */
const ambiguous = (name: string, headers: readonly string[], body = `${FORM}${SMUGGLED}`, response = MALFORMED) =>
  closing(name, tokenRequest(headers, body), response);
const length = (name: string, value: string, response = MALFORMED) =>
  ambiguous(name, [`Content-Length: ${value}`], undefined, response);
const coding = (name: string, value: string, response = MALFORMED) =>
  ambiguous(name, [`Transfer-Encoding: ${value}`], `${HEX}\r\n${FORM}\r\n0\r\n\r\n${SMUGGLED}`, response);
const chunks = (name: string, body: string, response = MALFORMED) =>
  closing(name, tokenRequest([CHUNKED], body), response);
/** Chunks that are well-formed: the connection stays open. */
const goodChunks = (name: string, body: string) => keeping(name, tokenRequest([CHUNKED], body), TOKEN);

/** Where a body ends, told in two ways or in none (RFC 9112 sections 6 and 7): request smuggling. */
export const FRAMINGS: readonly HostileRequest[] = [
  ambiguous('a length and chunks', [`Content-Length: ${LENGTH}`, CHUNKED]),
  ambiguous('chunks and a length', [CHUNKED, 'Content-Length: 4'], `0\r\n\r\n${SMUGGLED}`),
  ambiguous('a length of 0 and chunks', ['Content-Length: 0', CHUNKED]),
  ambiguous('two lengths', ['Content-Length: 5', 'Content-Length: 6']),
  ambiguous('a length twice', [`Content-Length: ${LENGTH}`, `Content-Length: ${LENGTH}`]),
  length('a list of lengths', '5, 6'),
  length('a list of one length twice', `${LENGTH}, ${LENGTH}`),
  length('a length with a plus', `+${LENGTH}`),
  length('a negative length', '-1'),
  length('a hexadecimal length', `0x${HEX}`),
  length('a length with an exponent', '1e2'),
  length('a length with a fraction', '80.0'),
  length('a length with a space within', '8 0'),
  length('a length in Arabic digits', '\xd9\xa5'),
  length('an empty length', ''),
  length('a length beyond 64 bits', '18446744073709551616'),
  keeping('a length with zeros before it', tokenRequest([`Content-Length: 000${LENGTH}`], FORM), TOKEN),
  coding('an unknown transfer coding', 'xchunked'),
  coding('a coding without chunks', 'identity'),
  coding('a coding before chunks', 'gzip, chunked'),
  coding('chunks before another coding', 'chunked, identity'),
  coding('chunks in chunks', 'chunked, chunked'),
  coding('chunks with a parameter', 'chunked;q=1'),
  coding('chunks in quotation marks', '"chunked"'),
  coding('chunks with a control character', 'chunked\x0b'),
  coding('chunks with a letter beyond ASCII', '\xa0chunked'),
  coding('an empty transfer coding', ''),
  ambiguous('two codings in two fields', [CHUNKED, 'Transfer-Encoding: identity'], `0\r\n\r\n${SMUGGLED}`),
  ambiguous('chunks in two fields', [CHUNKED, CHUNKED], `0\r\n\r\n${SMUGGLED}`),
  ambiguous('a space before the colon', ['Transfer-Encoding : chunked', `Content-Length: ${LENGTH}`]),
  ambiguous('a folded coding', ['Transfer-Encoding:', ' chunked', `Content-Length: ${LENGTH}`]),
  ambiguous('a coding behind a bare LF', [`X: y\nTransfer-Encoding: chunked`, `Content-Length: ${LENGTH}`]),
  ambiguous('a coding behind a bare CR', [`X: y\rTransfer-Encoding: chunked`, `Content-Length: ${LENGTH}`]),
  keeping(
    'a name that is nearly that of the coding',
    tokenRequest(['Transfer_Encoding: chunked', `Content-Length: ${LENGTH}`], FORM),
    TOKEN,
  ),
  keeping(
    'chunks in upper case',
    tokenRequest(['Transfer-Encoding: CHUNKED'], `${HEX}\r\n${FORM}\r\n0\r\n\r\n`),
    TOKEN,
  ),
  closing(
    'chunks before HTTP/1.1',
    request('POST /oauth2/token HTTP/1.0', ['Host: x', 'Connection: keep-alive', CHUNKED], `0\r\n\r\n${SMUGGLED}`),
    MALFORMED,
  ),
  keeping(
    'a request in the body of a GET',
    request('GET /oauth2/token HTTP/1.1', ['Host: x', `Content-Length: ${SMUGGLED.length}`], SMUGGLED),
    notAllowed('POST'),
  ),
  keeping(
    'a request in the body of a form',
    tokenRequest([`Content-Length: ${SMUGGLED.length}`], SMUGGLED),
    badRequest('form_ends_with_line_break'),
  ),
  keeping('neither a length nor chunks', tokenRequest([]), badRequest('grant_type_missing')),
  closing('a body behind a length of 0', tokenRequest(['Content-Length: 0'], FORM), badRequest('grant_type_missing')),
];

const EXTENSION = 'e'.repeat(17_000);

/** Chunks (RFC 9112 section 7.1). */
export const CHUNKS: readonly HostileRequest[] = [
  chunks('a chunk size that is no number', `zz\r\n${FORM}\r\n0\r\n\r\n`),
  chunks('a negative chunk size', `-1\r\n${FORM}\r\n0\r\n\r\n`),
  chunks('a chunk size with a prefix', `0x${HEX}\r\n${FORM}\r\n0\r\n\r\n`),
  chunks('a chunk size with a space before it', ` ${HEX}\r\n${FORM}\r\n0\r\n\r\n`),
  chunks('an empty chunk size', `\r\n${FORM}\r\n0\r\n\r\n`),
  chunks('a chunk size beyond 64 bits', `1${'0'.repeat(16)}\r\n${FORM}`),
  chunks('a chunk size of 20 digits', `${'f'.repeat(20)}\r\n${FORM}`),
  chunks('a chunk that is longer than its size', `${(LENGTH - 1).toString(16)}\r\n${FORM}\r\n0\r\n\r\n`),
  chunks('a chunk size that ends with a bare LF', `${HEX}\n${FORM}\r\n0\r\n\r\n`),
  chunks('a chunk that ends with a bare LF', `${HEX}\r\n${FORM}\n0\r\n\r\n`),
  chunks('a chunk size that ends with a bare CR', `${HEX}\rX${FORM}\r\n0\r\n\r\n`),
  chunks('an extension with a bare LF', `${HEX};a\n${FORM}\r\n0\r\n\r\n`),
  chunks(
    'an extension of 17 KiB',
    `${HEX};${EXTENSION}\r\n${FORM}\r\n0\r\n\r\n`,
    refused(413, 'invalid_request', 'content_too_large'),
  ),
  keeping(
    'extensions of 17 KiB in all, of which none is too long',
    tokenRequest([CHUNKED], `${`1;${'e'.repeat(1_000)}\r\na\r\n`.repeat(18)}0\r\n\r\n`),
    badRequest('grant_type_missing'),
  ),
  chunks('a trailer field without a colon', `${HEX}\r\n${FORM}\r\n0\r\nTrailer\r\n\r\n`),
  chunks(
    'trailer fields of 17 KiB',
    `${HEX}\r\n${FORM}\r\n0\r\nX: ${EXTENSION}\r\n\r\n`,
    refused(431, 'invalid_request', 'header_fields_too_large'),
  ),
  goodChunks('an extension', `${HEX};name="va\\"lue"\r\n${FORM}\r\n0;x\r\n\r\n`),
  goodChunks('a chunk size with zeros before it', `${HEX.padStart(12, '0')}\r\n${FORM}\r\n000\r\n\r\n`),
  goodChunks('chunks of one byte', `${[...FORM].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`),
  goodChunks(
    'credentials in a trailer, which are not read',
    `${HEX}\r\n${FORM}\r\n0\r\nAuthorization: Basic x\r\nContent-Encoding: gzip\r\n\r\n`,
  ),
];

/** Lines and fields that two parsers read in two ways (RFC 9112 sections 2.2 and 5). */
export const LINES: readonly HostileRequest[] = [
  closing('bare LF at the end of every line', 'GET / HTTP/1.1\nHost: x\n\n', MALFORMED),
  closing('a bare LF at the end of a field', 'GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n', MALFORMED),
  closing('a bare CR at the end of a field', 'GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n', MALFORMED),
  closing('a folded field', 'GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n z\r\n\r\n', MALFORMED),
  closing('white space before the first field', 'GET / HTTP/1.1\r\n Host: x\r\n\r\n', MALFORMED),
  closing('a space before a colon', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n', MALFORMED),
  closing('a tab before a colon', 'GET / HTTP/1.1\r\nHost\t: x\r\n\r\n', MALFORMED),
  closing('a field without a colon', 'GET / HTTP/1.1\r\nHost x\r\n\r\n', MALFORMED),
  closing('a field without a name', 'GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', MALFORMED),
  closing('a NUL in the name of a field', 'GET / HTTP/1.1\r\nHost: x\r\nX\0: y\r\n\r\n', MALFORMED),
  closing('a NUL in a field', 'GET / HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n', MALFORMED),
  closing('a control character in a field', 'GET / HTTP/1.1\r\nHost: x\r\nX: \x01\r\n\r\n', MALFORMED),
  closing('DEL in a field', 'GET / HTTP/1.1\r\nHost: x\r\nX: \x7f\r\n\r\n', MALFORMED),
  closing('a letter beyond ASCII in the name of a field', 'GET / HTTP/1.1\r\nHost: x\r\n\xe9: y\r\n\r\n', MALFORMED),
  closing('bytes beyond ASCII in a field', get('/', ['X: \xe9\xff']), UNAUTHORIZED),
  closing('a CR before the end of the fields', 'GET / HTTP/1.1\r\nHost: x\r\n\r\r\n', MALFORMED),
  closing('empty lines before the request', `\r\n\r\n${get('/')}`, UNAUTHORIZED),
  closing('a space before the method', ` ${get('/')}`, MALFORMED),
  closing('a tab in the first line', 'GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n', MALFORMED),
  keeping('two spaces before the version, as RFC 9112 allows', 'GET /  HTTP/1.1\r\nHost: x\r\n\r\n', UNAUTHORIZED),
  closing('a space in the target', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n', MALFORMED),
  closing('a first line without a version', 'GET /\r\nHost: x\r\n\r\n', MALFORMED),
  closing('HTTP/0.9', 'GET / HTTP/0.9\r\nHost: x\r\n\r\n', MALFORMED),
  closing('HTTP/1.2', 'GET / HTTP/1.2\r\nHost: x\r\nConnection: close\r\n\r\n', MALFORMED),
  closing('HTTP/1.10', 'GET / HTTP/1.10\r\nHost: x\r\n\r\n', MALFORMED),
  closing('HTTP/3.0', 'GET / HTTP/3.0\r\nHost: x\r\nConnection: close\r\n\r\n', MALFORMED),
  closing('a version in lower case', 'GET / http/1.1\r\nHost: x\r\n\r\n', MALFORMED),
  closing('another protocol in the first line', 'GET / ICAP/1.0\r\nHost: x\r\n\r\n', MALFORMED),
  closing('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', MALFORMED),
  closing('a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', MALFORMED),
  closing('the PROXY protocol', `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${get('/')}`, MALFORMED),
  closing('the PROXY protocol in binary', '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c', MALFORMED),
  closing('a greeting of SSH', 'SSH-2.0-OpenSSH_9.9\r\n', MALFORMED),
  closing('a greeting of SMTP', 'EHLO x\r\n', MALFORMED),
  closing('a command of Redis', '*1\r\n$4\r\nPING\r\n', MALFORMED),
  closing('a greeting of SOCKS', '\x05\x01\x00', MALFORMED),
  closing(
    'an upgrade to HTTP/2',
    get('/', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA']),
    UNAUTHORIZED,
  ),
  closing(
    'an upgrade with a request behind it',
    `${request('GET / HTTP/1.1', ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket'])}${SMUGGLED}`,
    UNAUTHORIZED,
  ),
  closing('an expectation that nobody knows', post(FORM, ['Expect: 200-ok']), TOKEN),
  closing('an expectation twice', post(FORM, ['Expect: 100-continue', 'Expect: 100-continue']), TOKEN),
  closing(
    'an expectation for a body that is too large',
    tokenRequest(['Content-Length: 16385', 'Expect: 100-continue']),
    refused(413, 'invalid_request', 'content_too_large'),
  ),
  closing(
    'an expectation before HTTP/1.1',
    request(
      'POST /oauth2/token HTTP/1.0',
      ['Content-Type: application/x-www-form-urlencoded', 'Expect: 100-continue', `Content-Length: ${LENGTH}`],
      FORM,
    ),
    TOKEN,
  ),
];
