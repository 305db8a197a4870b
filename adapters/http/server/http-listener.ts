import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** Milliseconds that answers may take to be sent once they were forced. */
const LAST_ANSWERS_MS = 1_000;

/** Milliseconds in which a request that is on its way when the server closes is still read. */
const FIRST_WORDS_MS = 500;

/** An HTTP server from its first connection to its last, so that none of its requests is lost when it ends. */
export class HttpListener {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #retired = false;

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.prependListener('request', (_request, response: ServerResponse) => {
      if (this.#retired) response.setHeader('Connection', 'close');
    });
  }

  /** Where it listens. Throws the system's error where the port cannot be had. */
  async listen(port: number, host: string): Promise<AddressInfo> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return this.#server.address() as AddressInfo;
  }

  /** From now on each answer ends its connection, so that callers come back elsewhere. New connections are still taken. */
  retire(): void {
    this.#retired = true;
  }

  /**
   * Takes no connection any more, closes those that idle and waits for the others. After `withinMs`, calls `force`,
   * which is to end what still waits, and a second later cuts what is left.
   */
  async close(withinMs: number, force: () => void): Promise<void> {
    this.retire();
    const closed = once(this.#server, 'close');
    this.#server.close();
    const timers = [
      setTimeout(() => this.#destroySilent(), Math.min(withinMs, FIRST_WORDS_MS)),
      setTimeout(force, withinMs),
      setTimeout(() => this.#server.closeAllConnections(), withinMs + LAST_ANSWERS_MS),
    ];
    await closed;
    for (const timer of timers) clearTimeout(timer);
  }

  /** Node takes a connection that never said a word for a busy one. What was said before the end has been read by now. */
  #destroySilent(): void {
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}
