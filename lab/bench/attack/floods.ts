import type { AssertionMethod, OptionalMethod } from '../assertion-clients.ts';
import {
  forgedAssertion,
  GARBAGE,
  guessFor,
  unknownClient,
  unknownClientByHeader,
  wideAssertion,
} from '../token-requests.ts';
import type { AttackingConnection, ConnectionBehavior } from './connection-flood.ts';

interface Flood extends ConnectionBehavior {
  /** Connections at once; a closed one is opened again. */
  readonly connections: number;
  /** The authentication method that it attacks, if that has to be switched on. */
  readonly method?: OptionalMethod;
}

const FORM_HEAD = 'POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n';
const SMALL_GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** Header sections just under the limit of 8 KiB and of 100 fields: one large field, and many small ones. */
const LARGE_FIELD = `X-Large: ${'a'.repeat(7_800)}\r\n`;
const SMALL_FIELDS = Array.from({ length: 95 }, (_, n) => `X-${n}: ${n}abcd\r\n`).join('');
const LARGE_HEAD = `GET / HTTP/1.1\r\nHost: a\r\n${LARGE_FIELD}\r\n`;
const MANY_FIELDS = `GET / HTTP/1.1\r\nHost: a\r\n${SMALL_FIELDS}\r\n`;

/** A body that ends with its last byte, which is never sent. */
const SLOW_BODY = `client_secret=${'b'.repeat(16_000)}`;
const SLOW_BODY_HEAD = `${FORM_HEAD}Content-Length: ${SLOW_BODY.length + 1}\r\n\r\n`;
const PIECES = 160;

/** A request that holds as much as it may, and lacks its end: a long target, a whole body, and a field behind it. */
const UNFINISHED =
  FORM_HEAD.replace('token', `token?${'a'.repeat(7_800)}`) +
  `Transfer-Encoding: chunked\r\n\r\n4000\r\n${'b'.repeat(0x4000)}\r\n0\r\nX: ${'c'.repeat(7_800)}`;
const UNFINISHED_FIELDS = `${FORM_HEAD}${SMALL_FIELDS}Content-Length: 16384\r\n\r\n${'b'.repeat(16_383)}`;
/** 6 KiB that Node.js keeps in 160, unless they are refused. */
const TOO_MANY_FIELDS = `${FORM_HEAD}${'A:b\r\n'.repeat(900)}Content-Length: 100\r\n\r\n`;

/** What many connections do, each as its own attack. The names say how many connections there are. */
export const FLOODS = {
  'idle connections, 2,000': { connections: 2_000, begin: once(SMALL_GET) },
  'guesses, 500': { connections: 500, begin: repeatedly(unknownClient) },
  'guesses, 2,000': { connections: 2_000, begin: repeatedly(unknownClient) },
  'pipelined guesses, 2,000 x 15': { connections: 2_000, begin: pipelined(15, unknownClient) },
  'large guesses, 2,000': { connections: 2_000, begin: repeatedly(largeGuess) },
  'large guesses by pairs, 2,000': { connections: 2_000, begin: pipelined(2, largeGuess) },
  'large headers, 2,000': { connections: 2_000, begin: repeatedly(() => LARGE_HEAD) },
  'pipelined large headers, 2,000 x 16': { connections: 2_000, begin: pipelined(16, () => LARGE_HEAD) },
  'many header fields, 2,000': { connections: 2_000, begin: repeatedly(() => MANY_FIELDS) },
  'slow headers, 2,000': { connections: 2_000, begin: slowly(LARGE_HEAD.slice(0, -4), 'b'.repeat(PIECES)) },
  'slow bodies, 2,000': { connections: 2_000, begin: slowly(SLOW_BODY_HEAD, SLOW_BODY) },
  'unfinished requests, 3,000': { connections: 3_000, begin: once(UNFINISHED) },
  'unfinished requests by TLS, 2,000': { connections: 2_000, begin: once(UNFINISHED), isTls: true },
  'unfinished requests of many fields, 3,000': { connections: 3_000, begin: once(UNFINISHED_FIELDS) },
  'too many header fields, 3,000': { connections: 3_000, begin: once(TOO_MANY_FIELDS) },
  'abandoned guesses, 2,000': { connections: 2_000, begin: abandon },
  'unread answers, 2,000': { connections: 2_000, begin: ignoreResponses },
  '100,000 client ids, 500': { connections: 500, begin: repeatedly(() => guessFor(nextClientId())) },
  'guesses by header, 2,000': {
    connections: 2_000,
    begin: repeatedly(unknownClientByHeader),
    method: 'client_secret_basic',
  },
  'forged assertions, 100': ofAssertions('private_key_jwt', 100, forgedAssertion),
  'forged identities, 100': ofAssertions('federated_jwt', 100, forgedAssertion),
  'wide assertions, 2,000': ofAssertions('private_key_jwt', 2_000, wideAssertion),
  'wide identities, 2,000': ofAssertions('federated_jwt', 2_000, wideAssertion),
} as const satisfies Record<string, Flood>;

export type FloodName = keyof typeof FLOODS;

/** What attackers do at the same time, each request as soon as the previous one is answered. */
export const MIXED_FLOODS = {
  'guesses for known clients': { connections: 22, begin: repeatedly(() => guessFor(`client-${1 + next(20)}`)) },
  'unknown clients': { connections: 21, begin: repeatedly(unknownClient) },
  garbage: { connections: 21, begin: repeatedly(() => GARBAGE[next(GARBAGE.length)] ?? '') },
  // If its row has BCrypt cost 14, a check takes 16 times as long as usual.
  'guesses at cost 14': { connections: 1, begin: repeatedly(() => guessFor('expensive-1')) },
  'slow header senders': { connections: 200, begin: sendHeaderByByte },
} as const satisfies Record<string, Flood>;

export type MixedFloodName = keyof typeof MIXED_FLOODS;

export function floodOf(name: FloodName | MixedFloodName): Flood {
  return { ...FLOODS, ...MIXED_FLOODS }[name];
}

function ofAssertions(method: AssertionMethod, connections: number, request: typeof forgedAssertion): Flood {
  return { connections, begin: repeatedly(() => request(method)), method };
}

let last = 0;

/** Whole numbers from 0 to below `count`, in turn. */
function next(count: number): number {
  last += 1;
  return last % count;
}

/** Of the greatest length. */
function nextClientId(): string {
  return `${'i'.repeat(248)}-${next(100_000)}`;
}

/** Almost 8 KiB of header fields and almost 16 KiB of a body. */
function largeGuess(): string {
  const body = `grant_type=client_credentials&client_id=${nextClientId()}&client_secret=${'b'.repeat(15_600)}`;
  return `${FORM_HEAD}${LARGE_FIELD}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** Sends a text, and nothing more. */
function once(text: string) {
  return (connection: AttackingConnection): void => connection.send(text);
}

/** Sends a request, and the next one when it is answered. */
function repeatedly(request: () => string) {
  return (connection: AttackingConnection): void => {
    const send = () => {
      connection.send(request());
      connection.afterResponse(send);
    };
    send();
  };
}

/** Sends `count` requests at once, for which the service closes the connection. */
function pipelined(count: number, request: () => string) {
  return (connection: AttackingConnection): void => {
    connection.send(Array.from({ length: count }, request).join(''));
  };
}

/** Sends the begin of a request, and the rest in small pieces until the server's patience is over. */
function slowly(begin: string, rest: string) {
  return (connection: AttackingConnection): void => {
    connection.send(begin);
    const size = Math.ceil(rest.length / PIECES);
    let sent = 0;
    connection.every(90, () => {
      connection.send(rest.slice(sent, sent + size));
      sent += size;
    });
  };
}

/** A header section that never ends (Slowloris). */
function sendHeaderByByte(connection: AttackingConnection): void {
  connection.send('POST /oauth2/token HTTP/1.1\r\nHost: a\r\nX-Slow: ');
  connection.every(1_000, () => connection.send('a'));
}

/** Sends a guess and disconnects before it is answered. */
function abandon(connection: AttackingConnection): void {
  connection.send(unknownClient());
  connection.every(100, () => connection.socket.destroy());
}

/** Sends small requests, whose responses are larger and are never read. */
function ignoreResponses(connection: AttackingConnection): void {
  connection.socket.pause();
  connection.every(100, () => connection.send(SMALL_GET.repeat(4)));
}
