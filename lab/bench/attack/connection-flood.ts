import { connect, type Socket } from 'node:net';
import { connect as connectByTls } from 'node:tls';

/** Milliseconds until a closed connection is opened again. */
const REOPEN_MS = 50;

/** At most so many connections are opened at once, so that the attackers themselves keep up. */
const OPENED_PER_TICK = 100;
const TICK_MS = 10;

/**
 * How often each status was received; `closed` counts connections that were closed, by the server or by the attacker.
 */
export type ResponseCount = Readonly<Record<string, number>>;

/** What the connections of a flood do. */
export interface ConnectionBehavior {
  /** Called for each connection once it is open. */
  readonly begin: (connection: AttackingConnection) => void;
  readonly isTls?: boolean;
}

/** Keeps a number of connections to loopback open. */
export class ConnectionFlood {
  readonly answers: Record<string, number> = {};
  /** Connections that were closed while a request on them was not answered. */
  unanswered = 0;
  readonly #port: number;
  readonly #begin: (connection: AttackingConnection) => void;
  readonly #isTls: boolean;
  readonly #sockets = new Set<Socket>();
  #missing: number;

  constructor(port: number, connections: number, { begin, isTls = false }: ConnectionBehavior) {
    this.#port = port;
    this.#begin = begin;
    this.#isTls = isTls;
    this.#missing = connections;
    setInterval(() => {
      for (let n = 0; n < OPENED_PER_TICK && this.#missing > 0; n += 1) this.#open();
    }, TICK_MS).unref();
  }

  /** Closes all connections, and opens no further ones. */
  end(): void {
    this.#missing = Number.NEGATIVE_INFINITY;
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(): void {
    this.#missing -= 1;
    const to = { port: this.#port, host: '127.0.0.1' };
    const socket = this.#isTls ? connectByTls({ ...to, rejectUnauthorized: false }) : connect(to);
    this.#sockets.add(socket);
    const connection = new AttackingConnection(socket, (status) => this.#count(status));
    socket.once(this.#isTls ? 'secureConnect' : 'connect', () => this.#begin(connection));
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (connection.isAwaiting) this.unanswered += 1;
      this.#count('closed');
      setTimeout(() => {
        this.#missing += 1;
      }, REOPEN_MS).unref();
    });
  }

  #count(name: string): void {
    this.answers[name] = (this.answers[name] ?? 0) + 1;
  }
}

/** One connection of a flood. */
export class AttackingConnection {
  readonly socket: Socket;
  /** Whether a response is awaited. */
  isAwaiting = false;
  #then = () => {};

  constructor(socket: Socket, onResponse: (status: string) => void) {
    this.socket = socket;
    socket.setEncoding('latin1');
    // An error is always followed by 'close'.
    socket.on('error', () => {});
    socket.on('data', (text: string) => {
      // A status line in two pieces is missed: its connection then waits until the server closes it.
      for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        onResponse(status);
        if (!this.isAwaiting) continue;
        this.isAwaiting = false;
        this.#then();
      }
    });
  }

  send(text: string): void {
    if (this.socket.writable) this.socket.write(text, 'latin1');
  }

  /** Calls `then` after the next response. */
  afterResponse(then: () => void): void {
    this.isAwaiting = true;
    this.#then = then;
  }

  /** Repeats an action until the connection is closed. */
  every(milliseconds: number, action: () => void): void {
    const timer = setInterval(action, milliseconds);
    this.socket.once('close', () => clearInterval(timer));
  }
}
