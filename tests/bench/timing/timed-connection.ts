import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { NO_ANSWER, readHttpAnswer } from '../attack/raw-connection.ts';

export interface TimedAnswer {
  /** NO_ANSWER if the connection ended before. */
  readonly status: number;
  /** When the request was written, in microseconds of the system's monotonic clock, which the service reads too. */
  readonly sentAt: number;
  /** From the request to the first byte of its answer. */
  readonly microseconds: number;
}

/** A keep-alive connection to loopback that measures the time of each answer. */
export class TimedConnection implements Disposable {
  readonly #port: number;
  #socket: Socket | undefined;
  #received = '';
  #pending: { readonly sentAt: number; readonly resolve: (answer: TimedAnswer) => void } | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Whether a request waits for its answer. */
  get busy(): boolean {
    return this.#pending !== undefined;
  }

  /** Resolves when the connection is open: no measured time includes opening it. */
  async open(): Promise<void> {
    if (this.#socket !== undefined) return;
    const socket = connect(this.#port, '127.0.0.1');
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

  /** Sends one request on the open connection. One at a time. */
  send(request: string): Promise<TimedAnswer> {
    return new Promise((resolve) => {
      this.#pending = { sentAt: now(), resolve };
      if (this.#socket === undefined) this.#settle(NO_ANSWER, now());
      else this.#socket.write(request, 'latin1');
    });
  }

  /** The answer, or undefined if it takes longer; the connection then stays busy until it arrives. */
  sendWithin(milliseconds: number, request: string): Promise<TimedAnswer | undefined> {
    const tooLate = new AbortController();
    const { signal } = tooLate;
    const answered = this.send(request).finally(() => tooLate.abort());
    return Promise.race([answered, delay(milliseconds, undefined, { signal }).catch(() => answered)]);
  }

  [Symbol.dispose](): void {
    this.#socket?.destroy();
  }

  #take(receivedAt: number, text: string): void {
    this.#received += text;
    const answer = readHttpAnswer(this.#received);
    if (answer === undefined) return;
    this.#received = this.#received.slice(answer.length);
    if (answer.closes) {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    this.#settle(answer.status, receivedAt);
  }

  #settle(status: number, receivedAt: number): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.resolve({ status, sentAt: pending.sentAt, microseconds: receivedAt - pending.sentAt });
  }
}

function now(): number {
  return Number(process.hrtime.bigint()) / 1_000;
}
