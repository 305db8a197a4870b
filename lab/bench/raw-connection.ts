import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** The status of a connection that ended before a response. */
export const NO_ANSWER = 0;

export interface TimedResponse {
  readonly status: number;
  /** From the request to the first byte of its response. */
  readonly microseconds: number;
}

/**
 * A keep-alive connection to loopback that sends raw requests, one at a time, and reads only the status of each
 * response.
 */
export class RawConnection implements Disposable {
  readonly #port: number;
  #socket: Socket | undefined;
  #received = '';
  #pending: { readonly sentAt: number; readonly resolve: (response: TimedResponse) => void } | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Whether a request waits for its response. */
  get busy(): boolean {
    return this.#pending !== undefined;
  }

  /** Resolves when the connection is open: no measured time includes opening it. */
  async open(localAddress?: string): Promise<void> {
    if (this.#socket !== undefined) return;
    // Ports of a chosen address are not used again for a minute, and searching for a free one takes long.
    const socket = connect({ port: this.#port, host: '127.0.0.1', ...(localAddress && { localAddress }) });
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    await once(socket, 'connect');
    this.#socket = socket;
    this.#received = '';
    socket.on('data', (text: string) => this.#take(now(), text));
    // An error is always followed by 'close'.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#socket = undefined;
      this.#settle(NO_ANSWER, now());
    });
  }

  /** Sends one request on the open connection. */
  send(request: string): Promise<TimedResponse> {
    return new Promise((resolve) => {
      this.#pending = { sentAt: now(), resolve };
      if (this.#socket === undefined) this.#settle(NO_ANSWER, now());
      else this.#socket.write(request, 'latin1');
    });
  }

  /** The response, or undefined if it takes longer; the connection then stays busy until it arrives. */
  sendWithin(milliseconds: number, request: string): Promise<TimedResponse | undefined> {
    const tooLate = new AbortController();
    const { signal } = tooLate;
    const answered = this.send(request).finally(() => tooLate.abort());
    return Promise.race([answered, delay(milliseconds, undefined, { signal }).catch(() => answered)]);
  }

  /** The status of one request. It is sent on a new connection if the previous one was closed. */
  async statusOf(request: string, localAddress?: string): Promise<number> {
    try {
      await this.open(localAddress);
    } catch {
      return NO_ANSWER;
    }
    return (await this.send(request)).status;
  }

  [Symbol.dispose](): void {
    this.#socket?.destroy();
  }

  #take(receivedAt: number, text: string): void {
    this.#received += text;
    const response = readHttpResponse(this.#received);
    if (response === undefined) return;
    this.#received = this.#received.slice(response.length);
    if (response.closes) {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    this.#settle(response.status, receivedAt);
  }

  #settle(status: number, receivedAt: number): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.resolve({ status, microseconds: receivedAt - pending.sentAt });
  }
}

/**
 * The first response in the received text, one character per byte, with its length; undefined until it is complete.
 * Reads only answers with Content-Length, the form in which the service answers, and throws for any other.
 */
export function readHttpResponse(received: string) {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = received.slice(0, headEnd).toLowerCase();
  const contentLength = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (contentLength === undefined) throw new Error('a response without Content-Length');
  const length = headEnd + 4 + Number(contentLength);
  if (received.length < length) return undefined;
  return { status: Number(head.slice(9, 12)), length, closes: head.includes('\r\nconnection: close') };
}

/** Microseconds of the system's monotonic clock. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1_000;
}
