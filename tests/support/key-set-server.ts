import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KeyProvider } from '../../application/ports/key-provider.ts';

/** How the issuer answers: completely, not at all on an open connection, or with half a body. */
export type KeySetResponse =
  | {
      readonly kind: 'text';
      readonly text: string;
      readonly status?: number;
      readonly headers?: Record<string, string>;
    }
  | { readonly kind: 'silent' }
  | { readonly kind: 'half'; readonly text: string };

/** Status 200 with this document. */
export function keySetResponse(document: unknown, headers: Record<string, string> = {}): KeySetResponse {
  return { kind: 'text', text: JSON.stringify(document), headers };
}

/** An issuer's key set on loopback, which can fail as real issuers do, and counts its requests. */
export class KeySetServer implements AsyncDisposable {
  readonly #port: number;
  readonly #listener: RequestListener;
  #server: Server;
  #questions = 0;
  #accept: string | undefined;
  answer: KeySetResponse = { kind: 'silent' };

  private constructor(server: Server, port: number, answers: (own: KeySetServer) => RequestListener) {
    this.#server = server;
    this.#port = port;
    this.#listener = answers(this);
    server.on('request', this.#listener);
  }

  static async start(answer: KeySetResponse): Promise<KeySetServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const keySet = new KeySetServer(server, port, (own) => (request, response) => {
      own.#questions += 1;
      own.#accept = request.headers.accept;
      const { answer } = own;
      if (answer.kind === 'text') {
        response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
        response.end(answer.text);
      } else if (answer.kind === 'half') {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(answer.text);
      }
    });
    keySet.answer = answer;
    return keySet;
  }

  /** Publishes the current keys of this provider. */
  static async of(keys: KeyProvider, headers?: Record<string, string>): Promise<KeySetServer> {
    return KeySetServer.start(keySetResponse({ keys: await keys.publicKeys() }, headers));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/keys`;
  }

  /** How many requests it has received. */
  get questions(): number {
    return this.#questions;
  }

  /** The media types that the last request accepts. */
  get accept(): string | undefined {
    return this.#accept;
  }

  /** Stops listening: connections are refused. */
  async leave(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  /** Listens again on the same port. */
  async comeBack(): Promise<void> {
    this.#server = createServer(this.#listener).listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave();
  }
}
