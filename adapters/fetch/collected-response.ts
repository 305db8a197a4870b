import { ServerResponse } from 'node:http';

/** These describe a connection, which the web server has. */
const OF_THE_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding'];

/** A status with which a Response has no body (WHATWG Fetch section 2.2.3). */
const WITHOUT_BODY = [204, 205, 304];

/** The response of a handler of Node.js, as a Response of the Web standard. */
export class CollectedResponse extends ServerResponse {
  readonly #chunks: Buffer[] = [];
  readonly #collected = Promise.withResolvers<Response>();

  /** Resolves when the handler has ended the response. */
  get collected(): Promise<Response> {
    return this.#collected.promise;
  }

  override write(chunk: string | Uint8Array): boolean {
    this.#chunks.push(Buffer.from(chunk));
    return true;
  }

  override end(chunk?: unknown): this {
    if (this.finished) return this;
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) this.write(chunk);
    this.finished = true;
    const headers = new Headers();
    for (const [name, value] of Object.entries(this.getHeaders())) {
      if (!OF_THE_CONNECTION.includes(name)) for (const each of [value].flat()) headers.append(name, String(each));
    }
    const hasBody = this.req.method !== 'HEAD' && !WITHOUT_BODY.includes(this.statusCode);
    const body = hasBody ? Buffer.concat(this.#chunks) : null;
    this.#collected.resolve(new Response(body, { status: this.statusCode, headers }));
    this.emit('finish');
    this.emit('close');
    return this;
  }
}
