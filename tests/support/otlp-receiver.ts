import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { until } from './until.ts';

/** A span as it arrived, with its attributes by name. */
export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status: { readonly code: number; readonly message?: string };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const attributesOf = (pairs: readonly KeyValue[]) =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]));

/** A small collector of traces: OTLP over HTTP on a free loopback port, as JSON. Answers with 200, or as it is told. */
export class OtlpReceiver implements AsyncDisposable {
  readonly #server: Server;
  readonly bodies: Buffer[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  /** The status of the next answers, or `hang` for none. */
  answer: number | 'hang' = 200;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      this.headers.push(request.headers);
      this.bodies.push(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
      if (this.answer !== 'hang') response.writeHead(this.answer).end('{}');
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

  /** The settings that make a service send its spans here, soon. */
  get environment() {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    };
  }

  spans(): readonly ReceivedSpan[] {
    return this.bodies.flatMap((body) =>
      JSON.parse(String(body)).resourceSpans.flatMap((entry: Record<string, never>) => {
        const { resource, scopeSpans } = entry as unknown as {
          resource: { attributes: readonly KeyValue[] };
          scopeSpans: readonly { spans: readonly (ReceivedSpan & { attributes: readonly KeyValue[] })[] }[];
        };
        return scopeSpans.flatMap(({ spans }) =>
          spans.map((span) => ({
            ...span,
            attributes: attributesOf(span.attributes),
            resource: attributesOf(resource.attributes),
          })),
        );
      }),
    );
  }

  /** The span of the request with this id and the spans of its steps, in the order in which they began. */
  async traceOf(requestId: unknown): Promise<readonly [ReceivedSpan, ...ReceivedSpan[]]> {
    const find = () => this.spans().find(({ attributes }) => attributes['auth.request_id'] === requestId);
    await until(() => find() !== undefined, 'the span of the request arrives');
    const root = find() as ReceivedSpan;
    const steps = this.spans().filter(({ parentSpanId }) => parentSpanId === root.spanId);
    return [
      root,
      ...steps.toSorted((one, other) => Number(BigInt(one.startTimeUnixNano) - BigInt(other.startTimeUnixNano))),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
