import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

/** These describe the connection of the web server, not the request. */
const OF_THE_CONNECTION = new Set(['host', 'content-length', 'transfer-encoding', 'expect', 'connection', 'upgrade']);

/** A Request of the Web standard in the form of Node.js. Its socket is never connected. */
export class FetchedRequest extends IncomingMessage {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(request: Request, remoteAddress: string) {
    super(Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress }));
    const { host, pathname, search } = new URL(request.url);
    this.method = request.method;
    this.url = `${pathname}${search}`;
    this.httpVersion = '1.1';
    const fields: [string, string][] = [['host', host]];
    for (const field of request.headers) if (!OF_THE_CONNECTION.has(field[0])) fields.push(field);
    // The declared length may be wrong here: the bytes are counted.
    if (request.body !== null) fields.push(['transfer-encoding', 'chunked']);
    this.rawHeaders = fields.flat();
    this.headers = Object.fromEntries(fields);
    this.headersDistinct = Object.fromEntries(fields.map(([name, value]) => [name, [value]]));
    this.#reader = request.body?.getReader();
  }

  /** Called once: Node.js fills the buffer of a request as its body arrives. */
  override async _read(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = (await this.#reader?.read()) ?? { done: true };
        if (this.destroyed) return;
        this.complete = done;
        this.push(done ? null : value);
        if (done) return;
      }
    } catch {
      // The stream of the body failed: the caller has disconnected.
      this.destroy();
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // A body that nobody reads any more is not asked for. Its stream may have failed already.
    this.#reader?.cancel().catch(() => {});
    if (!this.complete) this.socket.destroy();
    callback(error);
  }
}
