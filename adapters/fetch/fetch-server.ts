import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpLoad } from '../../application/ports/telemetry.ts';
import { CollectedResponse } from './collected-response.ts';
import { FetchedRequest } from './fetched-request.ts';

/** What the web server knows of a request that the request itself does not say. */
export interface RequestSource {
  /** The IP address that the connection comes from. Attempts are counted for it, and the log has it. */
  readonly remoteAddress?: string;
}

interface FetchServerParts {
  /** Answers a request as Node.js has it. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => unknown;
  /** Milliseconds that a body may take. */
  readonly requestMs: number;
}

/** Where callers without an address are counted. */
const UNKNOWN_ADDRESS = '0.0.0.0';

/**
 * The service as a function from a Web-standard Request to a Response (WHATWG Fetch), in place of a server with sockets. What a parser of
 * HTTP decides, such as repeated header fields, is decided by the web server that calls it.
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

  /** Refuses further requests, and waits for those in progress. After `drainMs`, calls `endWaits`, which ends what they wait for. */
  async close(drainMs: number, endWaits: () => void): Promise<void> {
    this.#isClosed = true;
    const timer = setTimeout(endWaits, drainMs);
    while (this.#inProgress > 0) await delay(10);
    clearTimeout(timer);
  }

  /** Answers a request. Rejects once the service is closed, and with a TypeError if somebody has read the body, or the address is none. */
  async fetch(request: Request, { remoteAddress = UNKNOWN_ADDRESS }: RequestSource = {}): Promise<Response> {
    if (this.#isClosed) throw new Error('the service is closed');
    if (isIP(remoteAddress) === 0) throw new TypeError('remoteAddress: must be an IP address, without a port');
    const fetched = new FetchedRequest(request, remoteAddress);
    this.#inProgress += 1;
    const response = new CollectedResponse(fetched);
    const abandon = () => {
      fetched.socket.destroy();
      fetched.destroy();
      response.abandon();
    };
    const timer = setTimeout(() => !fetched.complete && fetched.destroy(), this.#parts.requestMs);
    request.signal.addEventListener('abort', abandon);
    try {
      this.#parts.handle(fetched, response);
      return await response.collected;
    } finally {
      request.signal.removeEventListener('abort', abandon);
      clearTimeout(timer);
      fetched.destroy();
      this.#inProgress -= 1;
    }
  }
}
