import type { IncomingMessage } from 'node:http';

/** Memory that waiting requests may hold, on all connections together. */
const MAX_BYTES = 20 * 2 ** 20;

/** What Node.js keeps of a request without header fields and without a body, and of each name and value, beside the text. */
const REQUEST_BYTES = 4_096;
const TEXT_BYTES = 32;

/** What Node.js reads ahead of a body that nobody reads. */
const BODY_AHEAD_MAX_BYTES = 64 * 1024;

/** The requests of all connections that wait for the one before them on their connection, with the memory that they hold. */
export class PipelinedRequests {
  #waiting = 0;
  #bytes = 0;

  get waiting(): number {
    return this.#waiting;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get maxBytes(): number {
    return MAX_BYTES;
  }

  get full(): boolean {
    return this.#bytes > MAX_BYTES;
  }

  add(request: IncomingMessage): void {
    this.#waiting += 1;
    this.#bytes += heldBytes(request);
  }

  delete(request: IncomingMessage): void {
    this.#waiting -= 1;
    this.#bytes -= heldBytes(request);
  }
}

/** An estimate, the same whenever it is made. */
function heldBytes({ url = '', rawHeaders, headers }: IncomingMessage): number {
  const texts = rawHeaders.reduce((bytes, text) => bytes + TEXT_BYTES + text.length, url.length);
  const body = 'transfer-encoding' in headers ? BODY_AHEAD_MAX_BYTES : Number(headers['content-length'] ?? 0);
  return REQUEST_BYTES + texts + Math.min(body, BODY_AHEAD_MAX_BYTES);
}
