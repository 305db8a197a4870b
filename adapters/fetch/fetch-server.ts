import { IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpLoad } from '../../application/ports/telemetry.ts';
import { CollectedResponse } from './collected-response.ts';

/** What the web server knows of a request that the request itself does not say. */
export interface RequestSource {
  /** The IP address that the connection comes from. Attempts are counted for it, and the log has it. */
  readonly remoteAddress?: string;
}

interface FetchServerParts {
  /** Answers a request as Node.js has it. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => unknown;
  /** Milliseconds that a body may take, and the bytes that it may have. */
  readonly requestMs: number;
  readonly bodyMaxBytes: number;
}

/** These describe the connection of the web server, not the request. */
const OF_THE_CONNECTION = new Set(['host', 'content-length', 'transfer-encoding', 'expect', 'connection', 'upgrade']);

/** Where callers without an address are counted. */
const UNKNOWN_ADDRESS = '0.0.0.0';

/**
 * The service as a function from a Web-standard Request to a Response (WHATWG Fetch), in place of a server with
 * sockets. What a parser of HTTP decides, such as repeated header fields, is decided by the web server that calls it. A
 * body is read before the request is handled.
 */
export class FetchServer {
  /** Connections are those of the web server. */
  readonly load: HttpLoad = { connections: 0, connectionsMax: 0, dropped: 0 };
  readonly #parts: FetchServerParts;
  #inProgress = 0;
  #isClosed = false;

  constructor(parts: FetchServerParts) {
    this.#parts = parts;
  }

  get listening(): boolean {
    return !this.#isClosed;
  }

  /** Nothing listens. */
  async listen(): Promise<AddressInfo> {
    return { address: 'fetch', family: 'IPv4', port: 0 };
  }

  /** There are no connections to end. */
  retire(): void {}

  /**
   * Refuses further requests, and waits for those in progress. After `drainMs`, calls `endWaits`, which ends what they
   * wait for.
   */
  async close(drainMs: number, endWaits: () => void): Promise<void> {
    this.#isClosed = true;
    const timer = setTimeout(endWaits, drainMs);
    while (this.#inProgress > 0) await delay(10);
    clearTimeout(timer);
  }

  /**
   * Answers a request. Rejects once the service is closed, and with a TypeError if somebody has read the body, or the
   * address is none.
   */
  async fetch(request: Request, { remoteAddress = UNKNOWN_ADDRESS }: RequestSource = {}): Promise<Response> {
    if (this.#isClosed) throw new Error('the service is closed');
    if (isIP(remoteAddress) === 0) throw new TypeError('remoteAddress: must be an IP address, without a port');
    const reader = request.body?.getReader();
    const { requestMs, bodyMaxBytes, handle } = this.#parts;
    this.#inProgress += 1;
    try {
      const ended = AbortSignal.any([request.signal, AbortSignal.timeout(requestMs)]);
      const body = reader === undefined ? Buffer.alloc(0) : await readBody(reader, bodyMaxBytes, ended);
      const message = messageOf(request, body, remoteAddress);
      const response = new CollectedResponse(message);
      request.signal.addEventListener('abort', () => {
        message.socket.destroy();
        response.destroyed = true;
        response.emit('close');
      });
      handle(message, response);
      return await response.collected;
    } finally {
      this.#inProgress -= 1;
    }
  }
}

/**
 * The whole body, or one byte more than it may have; undefined if it fails or takes too long. What is left is for the
 * web server: streams that Node.js makes of its requests throw in an event if they are cancelled while data arrives,
 * which ends the process.
 */
async function readBody(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
  ended: AbortSignal,
): Promise<Buffer | undefined> {
  const { promise: lost, resolve } = Promise.withResolvers<undefined>();
  ended.addEventListener('abort', () => resolve(undefined));
  const body = Buffer.alloc(maxBytes + 1);
  for (let length = 0; length <= maxBytes; ) {
    const read = await Promise.race([reader.read().catch(() => undefined), lost]);
    if (read?.done !== false) return read && body.subarray(0, length);
    body.set(read.value.subarray(0, body.length - length), length);
    length += read.value.length;
  }
  return body;
}

/** The request as Node.js has it. Its socket is never connected. @param body undefined: the caller has disconnected. */
function messageOf(request: Request, body: Buffer | undefined, remoteAddress: string): IncomingMessage {
  const { host, pathname, search } = new URL(request.url);
  const fields = [...request.headers].filter(([name]) => !OF_THE_CONNECTION.has(name));
  fields.push(['host', host]);
  // Of a body that did not arrive, any length: reading it says so.
  if (request.body !== null) fields.push(['content-length', String(body?.length ?? 1)]);
  const message = new IncomingMessage(Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress }));
  const headers = Object.fromEntries(fields);
  Object.assign(message, { method: request.method, url: `${pathname}${search}`, httpVersion: '1.1', headers });
  message.rawHeaders = fields.flat();
  message.complete = body !== undefined;
  if (body === undefined) return message.destroy();
  message.push(body);
  message.push(null);
  return message;
}
