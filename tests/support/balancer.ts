import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  request,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { send } from './http.ts';

export interface Backend {
  readonly port: number;
  readonly managementPort: number;
}

const PROBE_EVERY_MS = 20;

/**
 * A small load balancer: asks each backend's /readyz all the time, spreads requests over those that are ready, keeps
 * connections to them, and repeats nothing: what a backend loses is lost to the caller, as 502.
 */
export class Balancer {
  readonly #ready = new Set<Backend>();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  readonly #server: Server;
  #turn = 0;
  #closed = false;

  private constructor() {
    this.#server = createServer((incoming, outgoing) => {
      const ready = [...this.#ready];
      this.#turn += 1;
      const backend = ready[this.#turn % Math.max(1, ready.length)];
      if (backend === undefined) return void outgoing.writeHead(502).end('no backend');
      const { method, url, headers } = incoming;
      const forwarded = request(
        { host: '127.0.0.1', port: backend.port, method, path: url, headers, agent: this.#agent },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, headersToPass(answer.headers));
          answer.pipe(outgoing);
        },
      );
      forwarded.on('error', (error) => outgoing.writeHead(502).end(`${backend.port}: ${error.message}`));
      incoming.pipe(forwarded);
    });
  }

  static async start(backends: readonly Backend[]): Promise<Balancer> {
    const balancer = new Balancer();
    for (const backend of backends) void balancer.#probe(backend);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  isReady(backend: Backend): boolean {
    return this.#ready.has(backend);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
    await once(this.#server, 'close');
  }

  async #probe(backend: Backend): Promise<void> {
    while (!this.#closed) {
      const ready = await send(`http://127.0.0.1:${backend.managementPort}`, '/readyz').then(
        (answer) => answer.status === 200,
        () => false,
      );
      if (ready) this.#ready.add(backend);
      else this.#ready.delete(backend);
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
    }
  }
}

/** What a caller is told of the answer: its kind, and how long it may be kept. */
function headersToPass(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const { 'content-type': type, 'cache-control': cacheControl } = headers;
  return { ...(type && { 'content-type': type }), ...(cacheControl && { 'cache-control': cacheControl }) };
}
