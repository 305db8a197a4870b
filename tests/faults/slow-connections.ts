import {
  type ExpectedResponse,
  FORM,
  FORM_TYPE,
  refused,
  request,
  SMUGGLED,
  TOKEN,
  tokenRequest,
  UNAUTHORIZED,
} from '../hostile/hostile-request.ts';

/** A connection that a client keeps open without completing a request. */
export interface SlowConnection {
  readonly name: string;
  /** What is sent at once. */
  readonly bytes: string;
  /** What is sent every half second after it. */
  readonly trickle?: string;
  /**
   * What the client does after the first bytes: nothing; it ends its half of the connection; or it resets the
   * connection.
   */
  readonly atLast: 'waits' | 'ends' | 'resets';
  readonly answers: readonly ExpectedResponse[];
  /** The earliest end, in milliseconds. */
  readonly endsAfterMs: number;
  /** What is sent is no TLS, or a part of its handshake. */
  readonly isWithoutTls?: true;
}

const TIMEOUT = refused(408, 'invalid_request', 'request_timeout');
const HEADERS_MS = 9_000;
const REQUEST_MS = 14_000;
const HEAD = `POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: ${FORM_TYPE}\r\n`;
const TOO_LARGE = refused(413, 'invalid_request', 'content_too_large');
const GOOD = tokenRequest([`Content-Length: ${FORM.length}`], FORM);

const waits = (name: string, bytes: string, endsAfterMs: number, trickle?: string): SlowConnection => ({
  name,
  bytes,
  atLast: 'waits',
  answers: [TIMEOUT],
  endsAfterMs,
  ...(trickle !== undefined && { trickle }),
});
/** Its response comes at once, and the rest of its body is read and ignored until the time of a request is over. */
const announces = (name: string, length: string): SlowConnection => ({
  name,
  bytes: tokenRequest([`Content-Length: ${length}`], `${FORM}${SMUGGLED}`),
  atLast: 'waits',
  answers: [TOO_LARGE],
  endsAfterMs: REQUEST_MS,
});
const ends = (name: string, bytes: string, ...answers: readonly ExpectedResponse[]): SlowConnection => ({
  name,
  bytes,
  atLast: 'ends',
  answers,
  endsAfterMs: 0,
});
const resets = (name: string, bytes: string): SlowConnection => ({
  name,
  bytes,
  atLast: 'resets',
  answers: [],
  endsAfterMs: 0,
});

const handshake = (name: string, bytes: string, trickle?: string): SlowConnection => ({
  ...waits(name, bytes, HEADERS_MS, trickle),
  answers: [],
  isWithoutTls: true,
});

/** The beginning of a client hello that announces 512 bytes. */
const HELLO = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03';

/** Those of a port with TLS. */
export const SLOW_HANDSHAKES: readonly SlowConnection[] = [
  handshake('a handshake that does not begin', ''),
  handshake('a handshake, byte by byte', HELLO, 'x'),
  handshake('a client hello without its end', HELLO + 'x'.repeat(500)),
];

export const SLOW_CONNECTIONS: readonly SlowConnection[] = [
  waits('not a byte', '', HEADERS_MS),
  waits('one byte', 'P', HEADERS_MS),
  waits('a first line', 'POST /oauth2/token HTTP/1.1\r\n', HEADERS_MS),
  waits('empty lines, again and again', '', HEADERS_MS, '\r\n'),
  waits('a first line, byte by byte', 'POST /oauth2/token', HEADERS_MS, '/'),
  waits('a header section, byte by byte', `${HEAD}X: `, HEADERS_MS, 'x'),
  waits('a header section, field by field', HEAD, HEADERS_MS, 'X: x\r\n'),
  waits('a header section without its last line', `${HEAD}Content-Length: 0\r\n`, HEADERS_MS),
  waits('a body that does not begin', `${HEAD}Content-Length: 100\r\n\r\n`, REQUEST_MS),
  waits('a body without its last byte', tokenRequest([`Content-Length: ${FORM.length + 1}`], FORM), REQUEST_MS),
  waits('a body, byte by byte', `${HEAD}Content-Length: 16000\r\n\r\n`, REQUEST_MS, 'x'),
  waits(
    'a body that the client asks for leave to send, and does not send',
    `${HEAD}Content-Length: 10\r\nExpect: 100-continue\r\n\r\n`,
    REQUEST_MS,
  ),
  waits('a chunk that does not begin', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, REQUEST_MS),
  waits('a chunk that does not end', `${HEAD}Transfer-Encoding: chunked\r\n\r\n100\r\nx`, REQUEST_MS),
  waits('a chunk size, digit by digit', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, REQUEST_MS, '0'),
  waits('an extension of a chunk, byte by byte', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1;`, REQUEST_MS, 'x'),
  waits('chunks of one byte', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, REQUEST_MS, '1\r\nx\r\n'),
  announces('a length of 64 bits', '9223372036854775807'),
  announces('a length that 32 bits read as 4', '4294967300'),
  waits('a trailer section, field by field', `${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n`, REQUEST_MS, 'X: x\r\n'),
  {
    name: 'a second request that does not end',
    bytes: `${GOOD}${HEAD}`,
    atLast: 'waits',
    answers: [TOKEN, TIMEOUT],
    endsAfterMs: HEADERS_MS,
  },
  ends('a client that ends at once', ''),
  ends('a client that ends within the header section', HEAD),
  ends('a client that ends within its body', tokenRequest([`Content-Length: ${FORM.length + 1}`], FORM)),
  ends('a client that ends within a chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\n100\r\nx`),
  resets('a client that resets within the header section', HEAD),
  resets('a client that resets within its body', `${HEAD}Content-Length: 100\r\n\r\ngrant_type=`),
  resets('a client that resets within a chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\n100\r\nx`),
  {
    name: 'a client that resets after a response',
    bytes: request('GET / HTTP/1.1', ['Host: x']),
    atLast: 'resets',
    answers: [UNAUTHORIZED],
    endsAfterMs: 0,
  },
];
