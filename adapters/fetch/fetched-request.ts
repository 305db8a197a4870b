import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

/** These describe the connection of the web server, not the request. */
const OF_THE_CONNECTION = new Set(['host', 'content-length', 'transfer-encoding', 'expect', 'connection', 'upgrade']);

/** How many bytes of a body are read that nobody needs, so that the connection can be used again. */
const DISCARDED_MAX = 65_536;

/** A Request of the Web standard in the form of Node.js. Its socket is never connected. */
export class FetchedRequest extends IncomingMessage {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #reading: Promise<void> | undefined;

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
    this.#reader = request.body?.getReader();
  }

  override _read(): void {
    this.#reading ??= this.#readAll();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // Never cancelled: streams that Node.js makes of its requests throw in an event if data arrives afterwards, which ends the process.
    if (!this.complete) {
      this._read();
      this.socket.destroy();
    }
    callback(error);
  }

  /** Reads the body to its end. What nobody needs any more is dropped, up to DISCARDED_MAX, and the rest left to the web server. */
  async #readAll(): Promise<void> {
    let discarded = 0;
    try {
      for (let isDone = false; !isDone && discarded < DISCARDED_MAX; ) {
        const { done, value } = (await this.#reader?.read()) ?? { done: true };
        isDone = done;
        if (this.destroyed) discarded += value?.length ?? 0;
        else {
          this.complete = done;
          this.push(done ? null : value);
        }
      }
    } catch {
      // The stream of the body failed: the caller has disconnected.
      this.destroy();
    }
  }
}
