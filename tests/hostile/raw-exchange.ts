import { connect } from 'node:net';
import { connect as connectByTls } from 'node:tls';

/** One response, as it came over the connection. */
export interface RawResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** All of it. */
  readonly text: string;
}

export interface RawExchange {
  /** Writes bytes, one character per byte. */
  write(bytes: string): void;
  /** Says that nothing more is written. The service can still answer. */
  end(): void;
  /** Resets the connection. */
  reset(): void;
  received(): string;
  /** Resolves when the connection has ended, no matter which side ended it. */
  readonly closed: Promise<void>;
  isClosed(): boolean;
}

/** Opens a connection to loopback that sends exactly what it is given, by TLS or as it is. */
export function openRawExchange(port: number, security: 'plain' | 'tls' = 'plain'): RawExchange {
  const connection = connect({ port, host: '127.0.0.1', allowHalfOpen: false });
  const socket = security === 'plain' ? connection : connectByTls({ socket: connection, rejectUnauthorized: false });
  let received = '';
  let isClosed = false;
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    received += text;
  });
  // A connection that the service resets ends here too: an error is always followed by 'close'.
  for (const each of [socket, connection]) each.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      isClosed = true;
      resolve();
    });
  });
  return {
    write: (bytes) => void socket.write(bytes, 'latin1'),
    end: () => void socket.end(),
    reset: () => void connection.resetAndDestroy(),
    received: () => received,
    closed,
    isClosed: () => isClosed,
  };
}

/**
 * The complete answers in the received bytes, without `100 Continue`. Throws if anything else is there, such as a
 * response without a length.
 *
 * @param isHead whether the response with this number is one to HEAD, which has a length but no body.
 */
export function readResponses(
  received: string,
  isHead: (index: number) => boolean = () => false,
): readonly RawResponse[] {
  const answers: RawResponse[] = [];
  let rest = received;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return answers;
    const [statusLine = '', ...lines] = rest.slice(0, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) [A-Za-z ]+$/.exec(statusLine)?.[1]);
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.replace(/^.*?: /, '')]),
    );
    if (headers.size !== lines.length) throw new Error(`a response repeats a header field: ${rest}`);
    if (status === 100) {
      rest = rest.slice(headEnd + 4);
      continue;
    }
    const declared = headers.get('content-length') ?? '';
    if (!/^\d+$/.test(declared) || Number.isNaN(status)) throw new Error(`not a response of the service: ${rest}`);
    const length = isHead(answers.length) ? 0 : Number(declared);
    const end = headEnd + 4 + length;
    if (rest.length < end) return answers;
    answers.push({ status, headers, body: rest.slice(headEnd + 4, end), text: rest.slice(0, end) });
    rest = rest.slice(end);
  }
}
