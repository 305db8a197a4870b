import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TlsOptions, Server as TlsServer } from 'node:tls';
import type { HttpLoad } from '../../../application/ports/telemetry.ts';
import { HEADER_FIELDS, releaseHeaderFields } from '../parsing/request-head.ts';
import { type ApplicationParts, createApplication } from './koa-application.ts';
import { ListeningSockets, type ListenOptions } from './listening-sockets.ts';
import { answerParserError, type Connection, endConnection, refuseTunnel } from './parser-errors.ts';

/** How long a client may take, in milliseconds. Node's own limits let a connection hang for five minutes. */
export const HTTP_TIMEOUTS = {
  /** For the header section. */
  headersMs: 10_000,
  /** For the whole request. */
  requestMs: 15_000,
  /** Between two requests on a connection; longer than the usual 60 s of load balancers, which then close first. */
  keepAliveMs: 65_000,
  /**
   * For a response of which the client reads nothing, while it sends nothing. Checked that often: the connection ends
   * before twice as long.
   */
  unreadMs: 30_000,
  /**
   * How long a connection waits for its client before it gives way to a new one: without a request, with one that has
   * begun to arrive, and of a client that was served, so that no good client notices a flood.
   */
  idleMs: { stranger: 1_000, begun: 2_000, served: 10_000 },
  /** How often the limits of the header section and of the request are checked. */
  checkEveryMs: 1_000,
};

export type HttpTimeouts = Readonly<typeof HTTP_TIMEOUTS>;

/** Beyond that, one that has been idle for long gives way. Fewer where memory or open files are scarce. */
export const CONNECTIONS_MAX = 10_000;

/** Milliseconds after which a connection without a first byte is destroyed when the server closes. */
const FIRST_BYTE_MS = 500;

/** Milliseconds to send the last responses, once the drain time is over. */
const LAST_RESPONSES_MS = 1_000;

interface Idle {
  /** Milliseconds of `performance.now()`. */
  readonly since: number;
  /** What the client had sent by then. */
  readonly bytesRead: number;
}

/** What makes it a server with TLS. */
export interface Tls {
  readonly options: TlsOptions;
  /** Called once with the server, which may get another certificate later. */
  attach(server: TlsServer): void;
}

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface HttpServerParts extends ApplicationParts {
  readonly timeouts: HttpTimeouts;
  readonly connectionsMax?: number;
  readonly tls?: Tls | undefined;
}

/**
 * The application on a port. Every response has the application's own form, and no request is lost when the server
 * closes. A connection has one request at a time. If a client sends another one before the response (RFC 9112 section
 * 9.3.2, pipelining), that response is the last one and closes the connection; at a third one it is closed at once.
 * What waits could otherwise hold any amount of memory. The socket is read meanwhile, since a socket that is not read
 * does not tell that the client has disconnected.
 *
 * | a connection | is in | goes on |
 * |---|---|---|
 * | is accepted (listening-sockets.ts) | | beyond `connectionsMax`, one that has been idle for `idleMs` is closed; if none has, this one |
 * | is in the handshake of TLS | #handshakes, #idle | it ends, or the connection is closed after its `handshakeTimeout` |
 * | has no request | #connections, #idle | a request begins; before the first one 408 after `headersMs`, after others it is closed after `keepAliveMs` |
 * | has one that has not arrived | #connections, #idle `begun` | it arrives; 408 after `headersMs` or `requestMs` |
 * | has a request without a response | #connections, `response` | the response is sent; an error of the parser is answered (parser-errors.ts) |
 * | has a further request before that (`isRefused`) | as before | closed behind the response, or at the next request |
 *
 * What holds, with its test in tests/adapters/http/connections.test.ts: both maps together have `connectionsMax` at
 * most ("closes the connection that has been idle longest for a new one"); a connection has one request in the
 * application ("none of them begins"); once retired, each response closes its connection ("accepts requests during the
 * grace time of a planned shutdown, …"); no caller that has connected is reset by a close ("answer the callers that
 * have connected when the server closes, …").
 */
export class HttpServer {
  readonly #server: Server;
  readonly #sockets: ListeningSockets;
  readonly #handle: RequestHandler;
  readonly #connections = new Map<Duplex, Connection>();
  /** Connections in a handshake, by their addresses: Node.js does not say which socket a TLSSocket was. */
  readonly #handshakes = new Map<string, Socket>();
  /** Connections that wait for their client, the longest first. An arrived request may be among the begun ones. */
  readonly #idle = {
    stranger: new Map<Socket, Idle>(),
    begun: new Map<Socket, Idle>(),
    served: new Map<Socket, Idle>(),
  };
  readonly #idleMs: HttpTimeouts['idleMs'];
  readonly #connectionsMax: number;
  #dropped = 0;
  #retired = false;

  constructor({ timeouts, connectionsMax = CONNECTIONS_MAX, tls, ...parts }: HttpServerParts) {
    const onServed = (socket: Socket) => {
      const connection = this.#connections.get(socket);
      if (connection !== undefined) connection.isServed = true;
    };
    this.#handle = createApplication({ ...parts, onServed }).callback();
    this.#connectionsMax = connectionsMax;
    // With TLS, each connection that takes the place of another costs a handshake and its memory: 2,000 took 317
    // instead of 283 MB.
    this.#idleMs = tls === undefined ? timeouts.idleMs : { ...timeouts.idleMs, begun: Infinity };
    const options = {
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.keepAliveMs,
      connectionsCheckingInterval: timeouts.checkEveryMs,
      maxHeaderSize: HEADER_FIELDS.maxBytes,
      // Node answers a missing Host without a body; request-head.ts checks it instead.
      requireHostHeader: false,
    };
    this.#server = tls === undefined ? createServer(options) : createSecureServer({ ...tls.options, ...options });
    // Further fields are refused by Node.js, or before 22.23 and 24.21 dropped without a word: one more than the limit
    // shows that there were too many.
    this.#server.maxHeadersCount = HEADER_FIELDS.max + 1;
    // Node calls this when an idle connection has to end, and when nothing was sent, received or read by the client for
    // `unreadMs`. A request whose response is not ready does not depend on the client, and may wait longer, for a
    // database for example.
    this.#server.setTimeout(timeouts.unreadMs, (socket: Socket) => {
      const isWaiting = socket.writableLength === 0 && this.#connections.get(socket)?.response !== undefined;
      if (!isWaiting) socket.destroy();
    });
    this.#sockets = new ListeningSockets(this.#server);
    // Node.js has no event before this listener of its own, which begins the handshake or reads HTTP.
    const begin = this.#server.listeners('connection')[0] as (this: Server, socket: Socket) => void;
    this.#server.off('connection', begin).on('connection', (socket: Socket) => {
      // Not `maxConnections`, which each listening socket would count by itself.
      if (this.load.connections >= connectionsMax) {
        this.#dropped += 1;
        if (!this.#closeIdle()) {
          socket.destroy();
          return;
        }
      }
      if (tls === undefined) this.#remember(socket);
      else this.#shakeHands(socket);
      begin.call(this.#server, socket);
    });
    if (tls !== undefined) {
      this.#server.on('secureConnection', (socket: Socket) => {
        this.#forgetHandshake(connectionOf(socket));
        this.#remember(socket);
      });
      tls.attach(this.#server as Server & TlsServer);
    }
    // An unknown expectation is ignored, as RFC 9110 section 10.1.1 allows, instead of answered 417 without a body;
    // `100-continue` is answered when the body is read.
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      this.#server.on(event, (request: IncomingMessage, response: ServerResponse) => this.#receive(request, response));
    }
    this.#server.on('clientError', (error, socket) => {
      const connection = this.#connections.get(socket);
      if (connection === undefined) socket.destroy();
      else answerParserError(error, connection, parts);
    });
    this.#server.on('connect', (request: IncomingMessage) => refuseTunnel(request, parts));
  }

  get listening(): boolean {
    return this.#server.listening;
  }

  get load(): HttpLoad {
    return {
      connections: this.#connections.size + this.#handshakes.size,
      connectionsMax: this.#connectionsMax,
      dropped: this.#dropped,
    };
  }

  /** Resolves with the address when it accepts connections. Throws the system's error if the port is not available. */
  listen(options: ListenOptions): Promise<AddressInfo> {
    return this.#sockets.open(options);
  }

  /** Each response closes its connection from now on: clients reconnect elsewhere. New connections are accepted. */
  retire(): void {
    this.#retired = true;
    for (const { response } of this.#connections.values()) {
      if (response?.headersSent === false) response.shouldKeepAlive = false;
    }
  }

  /**
   * Accepts the callers that have connected and no more, closes idle connections and waits for the others. After
   * `drainMs`, calls `endWaits`, which ends what requests still wait for; a second later answers the remaining ones
   * with 503 and ends their connections.
   */
  async close(drainMs: number, endWaits: () => void): Promise<void> {
    this.retire();
    await this.#sockets.acceptLastCallers();
    const closed = this.#sockets.close();
    const timers = [
      setTimeout(() => this.#destroySilent(), Math.min(drainMs, FIRST_BYTE_MS)),
      setTimeout(endWaits, drainMs),
      setTimeout(() => this.#connections.forEach(endConnection), drainMs + LAST_RESPONSES_MS),
    ];
    await closed;
    for (const timer of timers) clearTimeout(timer);
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    // The parser goes on to the end of what was read from a socket, even if it is closed: 64 KiB, at 1 µs for each
    // request.
    if (connection === undefined || request.socket.destroyed) return;
    const before = connection.response;
    if (before !== undefined && !mayBeFollowed(before)) {
      this.#refusePipelined(connection, before, request);
      return;
    }
    this.#endIdle(request.socket);
    this.#startIdle(request.socket, 'begun');
    connection.request = request;
    connection.response = response;
    connection.isServed = false;
    response.once('close', () => {
      if (connection.response !== response) return;
      connection.response = undefined;
      if (request.complete) connection.request = undefined;
      if (request.complete && !request.socket.destroyed) {
        this.#endIdle(request.socket);
        this.#startIdle(request.socket, connection.isServed ? 'served' : 'stranger');
      }
    });
    if (this.#retired) response.shouldKeepAlive = false;
    // Node discards what follows a request for an upgrade that it does not make: nothing may follow it.
    if (request.headers.upgrade !== undefined) response.setHeader('Connection', 'close');
    this.#handle(request, response);
  }

  #refusePipelined(connection: Connection, before: ServerResponse, request: IncomingMessage): void {
    if (connection.isRefused) connection.socket.destroy();
    connection.isRefused = true;
    if (!before.headersSent) before.shouldKeepAlive = false;
    releaseHeaderFields(request);
    request.resume();
  }

  #remember(socket: Socket): void {
    this.#connections.set(socket, { socket });
    this.#startIdle(socket, 'stranger');
    socket.once('close', () => this.#forget(socket));
  }

  #forget(socket: Socket): void {
    this.#connections.delete(socket);
    this.#endIdle(socket);
  }

  #startIdle(socket: Socket, as: keyof HttpTimeouts['idleMs'], since = performance.now()): void {
    this.#idle[as].set(socket, { since, bytesRead: socket.bytesRead });
  }

  #endIdle(socket: Socket): void {
    this.#idle.stranger.delete(socket);
    this.#idle.begun.delete(socket);
    this.#idle.served.delete(socket);
  }

  /** Closes a connection that has waited for its client for long, if there is one. */
  #closeIdle(): boolean {
    return this.#closeIdleOf('stranger') || this.#closeIdleOf('begun') || this.#closeIdleOf('served');
  }

  #closeIdleOf(kind: keyof HttpTimeouts['idleMs']): boolean {
    const latest = performance.now() - this.#idleMs[kind];
    for (const [socket, { since, bytesRead }] of this.#idle[kind]) {
      if (since > latest) return false;
      this.#idle[kind].delete(socket);
      if (kind === 'begun') {
        if (this.#connections.get(socket)?.request?.complete) continue;
      } else if (socket.bytesRead !== bytesRead) {
        this.#startIdle(socket, 'begun', kind === 'stranger' ? since : performance.now());
        continue;
      }
      this.#forget(socket);
      this.#forgetHandshake(connectionOf(socket));
      socket.destroy();
      return true;
    }
    return false;
  }

  #shakeHands(socket: Socket): void {
    // The further sockets of a shared port leave this to their user: a client that ends within its handshake is
    // disconnected.
    socket.allowHalfOpen = false;
    const connection = connectionOf(socket);
    this.#handshakes.set(connection, socket);
    this.#startIdle(socket, 'stranger');
    // Another connection may have the same port by now.
    socket.once('close', () => this.#handshakes.get(connection) === socket && this.#forgetHandshake(connection));
  }

  #forgetHandshake(connection: string): void {
    const socket = this.#handshakes.get(connection);
    if (socket !== undefined) this.#endIdle(socket);
    this.#handshakes.delete(connection);
  }

  /** Node counts a connection without a byte as busy. What was sent before the close has been read by now. */
  #destroySilent(): void {
    for (const socket of this.#handshakes.values()) socket.destroy();
    for (const { socket } of this.#connections.values()) if (socket.bytesRead === 0) socket.destroy();
  }
}

function connectionOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/**
 * Whether the next request on its connection may begin. The client may have all of a response that is not sent to its
 * end for us.
 */
function mayBeFollowed(response: ServerResponse): boolean {
  return response.writableEnded && response.shouldKeepAlive && response.getHeader('Connection') !== 'close';
}
