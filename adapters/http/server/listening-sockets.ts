import { type EventEmitter, once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Whether other sockets may listen on the same port. The system distributes the connections. */
  readonly reusePort?: boolean;
}

/**
 * Node.js accepts one connection from each socket in each iteration of its event loop, and an iteration under load
 * takes milliseconds. With this many sockets, hundreds of callers that connect at the same time do not wait for each
 * other. Beside a flood on 300 connections, 20 new callers had their token after 0.08 s, with one socket after 0.24 s
 * (26 November 2026, medians of ten pairs).
 */
const SOCKETS_OF_A_SHARED_PORT = 32;

/** Milliseconds to accept the callers that have connected when the server closes. More may arrive all the time. */
const LAST_CALLERS_MS = 1_000;

/** The sockets on which an HTTP server accepts connections: one, or many if the port is shared. */
export class ListeningSockets {
  readonly #server: HttpServer;
  readonly #lastCallersMs: number;
  readonly #more: Server[] = [];

  constructor(server: HttpServer, lastCallersMs = LAST_CALLERS_MS) {
    this.#server = server;
    this.#lastCallersMs = lastCallersMs;
  }

  /** Resolves with the address when all listen. Otherwise rejects with the system's error, and leaves none open. */
  async open({ host, port, reusePort = false }: ListenOptions): Promise<AddressInfo> {
    const options = { host, port, reusePort };
    const address = await listen(this.#server, options);
    const { emit }: EventEmitter = this.#server;
    try {
      while (reusePort && this.#more.length < SOCKETS_OF_A_SHARED_PORT - 1) {
        // With the options that an HTTP server has.
        const more = createServer({ allowHalfOpen: true, noDelay: true });
        more.on('connection', emit.bind(this.#server, 'connection'));
        await listen(more, { ...options, port: address.port });
        this.#more.push(more);
      }
    } catch (problem) {
      for (const server of [this.#server, ...this.#more]) server.close();
      throw problem;
    }
    return address;
  }

  /** Accepts no more connections. Resolves when all have ended. */
  async close(): Promise<void> {
    const servers = [this.#server, ...this.#more];
    const closed = servers.map((server) => once(server, 'close'));
    for (const server of servers) server.close();
    await Promise.all(closed);
  }

  /**
   * The system resets the connections that wait when a socket closes. Close the sockets as soon as this resolves: none
   * waits then.
   */
  async acceptLastCallers(): Promise<void> {
    let accepted = true;
    const onConnection = () => {
      accepted = true;
    };
    this.#server.on('connection', onConnection);
    const deadline = performance.now() + this.#lastCallersMs;
    // The first may end in the iteration that runs now, after it has looked for connections.
    await nextIteration();
    while (accepted && performance.now() < deadline) {
      accepted = false;
      await nextIteration();
    }
    this.#server.off('connection', onConnection);
  }
}

async function listen(server: Server, options: ListenOptions): Promise<AddressInfo> {
  server.listen(options);
  await once(server, 'listening');
  return server.address() as AddressInfo;
}
