import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ApplicationParts, createApplication } from './koa-application.ts';
import { ListeningSockets, type ListenOptions } from './listening-sockets.ts';
import { answerParserError, type Connection, refuseTunnel } from './parser-errors.ts';

/** How long a client may take, in milliseconds. Node's own limits let a connection hang for five minutes. */
export const HTTP_TIMEOUTS = {
  /** For the header section. */
  headersMs: 10_000,
  /** For the whole request. */
  requestMs: 15_000,
  /** Between two requests on a connection; longer than the usual 60 s of load balancers, which then close first. */
  keepAliveMs: 65_000,
  /** How often the first two are checked. */
  checkEveryMs: 1_000,
};

export type HttpTimeouts = Readonly<typeof HTTP_TIMEOUTS>;

/** Further connections are closed at once; each open connection needs about 20 KiB. */
export const CONNECTIONS_MAX = 10_000;

const HEADER_FIELDS_MAX_BYTES = 16 * 1024;

/** Requests in progress on one connection. A client that pipelines more is disconnected: each costs memory before it is read. */
const PIPELINED_MAX = 16;

/** Milliseconds after which a connection without a first byte is destroyed when the server closes. */
const FIRST_BYTE_MS = 500;

/** Milliseconds to send the last responses, once the drain time is over. */
const LAST_RESPONSES_MS = 1_000;

export interface HttpServerParts extends ApplicationParts {
  readonly timeouts: HttpTimeouts;
  readonly connectionsMax?: number;
}

/** The application on a port. Every response has the application's own form, and no request is lost when the server closes. */
export class HttpServer {
  readonly #server: Server;
  readonly #sockets: ListeningSockets;
  readonly #connections = new Map<Duplex, Connection>();
  #retired = false;

  constructor({ timeouts, connectionsMax = CONNECTIONS_MAX, ...parts }: HttpServerParts) {
    const handle = createApplication(parts).callback();
    this.#server = createServer({
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.keepAliveMs,
      connectionsCheckingInterval: timeouts.checkEveryMs,
      maxHeaderSize: HEADER_FIELDS_MAX_BYTES,
      // Node answers a missing Host without a body; request-head.ts checks it instead.
      requireHostHeader: false,
    });
    this.#sockets = new ListeningSockets(this.#server);
    this.#server.on('connection', (socket: Socket) => {
      // Not `maxConnections`, which each listening socket would count by itself.
      if (this.#connections.size >= connectionsMax) return void (socket.destroy() && this.#server.emit('drop'));
      this.#connections.set(socket, { socket, unsent: [] });
      socket.once('close', () => this.#connections.delete(socket));
    });
    // An unknown expectation is ignored, as RFC 9110 section 10.1.1 allows, instead of answered 417 without a body;
    // `100-continue` is answered when the body is read.
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      this.#server.on(event, (request: IncomingMessage, response: ServerResponse) => {
        this.#begin(request, response);
        return handle(request, response);
      });
    }
    this.#server.on('clientError', (error, socket) => {
      const connection = this.#connections.get(socket);
      if (connection === undefined) socket.destroy();
      else answerParserError(error, connection, parts);
    });
    this.#server.on('connect', ({ socket }: IncomingMessage) => refuseTunnel(socket, parts));
  }

  get listening(): boolean {
    return this.#server.listening;
  }

  /** Resolves with the address when the server accepts connections. Throws the system's error if the port is not available. */
  listen(options: ListenOptions): Promise<AddressInfo> {
    return this.#sockets.open(options);
  }

  /** From now on each response closes its connection: clients reconnect elsewhere. New connections are still accepted. */
  retire(): void {
    this.#retired = true;
  }

  /**
   * Accepts the callers that have connected and no more, closes idle connections and waits for the others. After `drainMs`, calls `endWaits`, which
   * ends what requests still wait for; a second later destroys the remaining connections.
   */
  async close(drainMs: number, endWaits: () => void): Promise<void> {
    this.retire();
    await this.#sockets.acceptLastCallers();
    const closed = this.#sockets.close();
    const timers = [
      setTimeout(() => this.#destroySilent(), Math.min(drainMs, FIRST_BYTE_MS)),
      setTimeout(endWaits, drainMs),
      setTimeout(() => this.#server.closeAllConnections(), drainMs + LAST_RESPONSES_MS),
    ];
    await closed;
    for (const timer of timers) clearTimeout(timer);
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    if (connection !== undefined) {
      const { unsent } = connection;
      connection.lastRequest = request;
      unsent.push(response);
      response.once('close', () => unsent.splice(unsent.indexOf(response), 1));
      if (unsent.length > PIPELINED_MAX) socket.destroy();
    }
    // Node discards what follows a request for an upgrade that it does not make: nothing may follow it.
    if (this.#retired || request.headers.upgrade !== undefined) response.setHeader('Connection', 'close');
  }

  /** Node counts a connection without a first byte as busy. Bytes that were sent before the close have been read by now. */
  #destroySilent(): void {
    for (const { socket } of this.#connections.values()) if (socket.bytesRead === 0) socket.destroy();
  }
}
