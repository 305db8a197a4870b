import { connect, type Socket } from 'node:net';
import { readHttpAnswer } from './http-answer.ts';

/** What is answered where the connection ended before the answer. */
export const NO_ANSWER = 0;

/** A keep-alive connection to loopback that sends requests as bytes and tells of answers their status, with as little work as can be. */
export class RawConnection {
  readonly #port: number;
  #socket: Socket | undefined;
  #received = '';
  #settle: (status: number) => void = () => {};

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends one request, on a new connection where the last one was closed. One at a time. */
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
    // What follows an error is the close.
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
