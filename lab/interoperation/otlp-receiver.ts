import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../../tests/support/until.ts';

/** A span as it arrived, with its attributes by name. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface SentSpan extends Omit<ReceivedSpan, 'attributes'> {
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** A small collector of traces: OTLP over HTTP on a free loopback port, as JSON. */
export class OtlpReceiver implements AsyncDisposable {
  readonly #server: Server;
  readonly #bodies: string[] = [];

  private constructor() {
    this.#server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      this.#bodies.push(body);
      response.end('{}');
    });
  }

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** All that has arrived. */
  get text(): string {
    return this.#bodies.join('\n');
  }

  spans(): readonly ReceivedSpan[] {
    const sent = this.#bodies.flatMap((body) =>
      JSON.parse(body).resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: readonly { spans: SentSpan[] }[] }) =>
        scopeSpans.flatMap(({ spans }) => spans),
      ),
    ) as readonly SentSpan[];
    return sent.map((span) => ({
      ...span,
      attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    }));
  }

  /** The span of the request with this id. */
  async spanOf(requestId: unknown): Promise<ReceivedSpan> {
    const find = () => this.spans().find(({ attributes }) => attributes['auth.request_id'] === requestId);
    await until(() => find() !== undefined, 'the span of the request arrives');
    return find() as ReceivedSpan;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
