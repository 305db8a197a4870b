import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { send } from './http.ts';
import { until } from './until.ts';

export interface Backend {
  readonly port: number;
  readonly managementPort: number;
}

/** How a balancer finds out which backends are ready. */
interface Probing {
  readonly path: string;
  readonly everyMs: number;
  /** A backend is ready after so many responses of 200 in a row, and no longer after so many others. */
  readonly rise: number;
  readonly fall: number;
  /**
   * How long a ready answer counts, from the time of its probe. Much shorter than the grace time of a replica, so that
   * a request never reaches one that has closed its port, however late the probes are on a busy machine.
   */
  readonly readyForMs: number;
}

const PROBING: Probing = { path: '/readyz', everyMs: 20, rise: 1, fall: 1, readyForMs: 100 };

/**
 * A small load balancer: probes each backend all the time, spreads requests over those that are ready and
 * keeps connections to them open. It does not retry: a request that a backend loses is answered 502.
 */
export class Balancer {
  readonly #probing: Probing;
  /** For each ready backend, when the last probe was sent that it answered with 200. */
  readonly #readyAt = new Map<Backend, number>();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  readonly #server: Server;
  #forwarded = 0;
  #closed = false;

  private constructor(probing: Probing) {
    this.#probing = probing;
    this.#server = createServer((incoming, outgoing) => {
      this.#forward(incoming, outgoing).catch((error: Error) => outgoing.writeHead(502).end(error.message));
    });
  }

  static async start(backends: readonly Backend[], probing: Partial<Probing> = {}): Promise<Balancer> {
    const balancer = new Balancer({ ...PROBING, ...probing });
    for (const backend of backends) void balancer.#probe(backend);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  isReady(backend: Backend): boolean {
    return this.#readyAt.has(backend);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
    await once(this.#server, 'close');
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const backend = await this.#nextBackend();
    if (backend === undefined) return void outgoing.writeHead(502).end('no backend is ready');
    const { method, url, headers } = incoming;
    const forwarded = request(
      { host: '127.0.0.1', port: backend.port, method, path: url, headers, agent: this.#agent },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, headersToPass(response.headers));
        response.pipe(outgoing);
      },
    );
    forwarded.on('error', (error) => outgoing.writeHead(502).end(`${backend.port}: ${error.message}`));
    incoming.pipe(forwarded);
  }

  /** Round robin. Waits for the next probe if no response is recent enough. Undefined if no backend is ready. */
  async #nextBackend(): Promise<Backend | undefined> {
    let recent: readonly Backend[] = [];
    await until(() => {
      recent = [...this.#readyAt].flatMap(([backend, at]) =>
        performance.now() - at < this.#probing.readyForMs ? backend : [],
      );
      return recent.length > 0 || this.#readyAt.size === 0;
    }, 'a probe of a ready backend is answered');
    this.#forwarded += 1;
    return recent[this.#forwarded % Math.max(1, recent.length)];
  }

  async #probe(backend: Backend): Promise<void> {
    const { path, everyMs, rise, fall } = this.#probing;
    let [isReady, inARow] = [false, 0];
    while (!this.#closed) {
      const askedAt = performance.now();
      const ready = await send(`http://127.0.0.1:${backend.managementPort}`, path).then(
        (response) => response.status === 200,
        () => false,
      );
      inARow = ready === isReady ? 0 : inARow + 1;
      if (inARow >= (ready ? rise : fall)) [isReady, inARow] = [ready, 0];
      if (!isReady) this.#readyAt.delete(backend);
      else if (ready) this.#readyAt.set(backend, askedAt);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}

/** The header fields that a caller needs: the content type, and how long the response may be cached. */
function headersToPass(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const { 'content-type': type, 'cache-control': cacheControl } = headers;
  return { ...(type && { 'content-type': type }), ...(cacheControl && { 'cache-control': cacheControl }) };
}
