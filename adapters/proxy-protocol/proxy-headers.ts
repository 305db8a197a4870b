import type { Socket } from 'node:net';
import { readProxyHeader } from './read-proxy-header.ts';

/** Milliseconds that a proxy has for its header, which it sends at once. */
const WITHIN_MS = 5_000;

/** Milliseconds between two lines of the log about refused headers. */
const LOG_EVERY_MS = 60_000;

interface Refused {
  readonly event: 'proxy_header_refused';
  readonly remote_address: string;
  readonly problem: 'missing or malformed' | 'too late' | 'incomplete';
}

interface ProxyHeadersParts {
  /** Only their headers are read. What others send is for the next layer, which takes a header for garbage. */
  readonly isTrusted: (address: string) => boolean;
  readonly onRefused: (refused: Refused) => void;
  readonly withinMs?: number;
}

/**
 * Reads the PROXY header of each connection from a trusted proxy. One without a header is closed, since a client
 * could otherwise send the header itself through a proxy that sends none.
 */
export class ProxyHeaders {
  readonly #parts: ProxyHeadersParts;
  #refused = 0;
  #loggedAt = -Infinity;

  constructor(parts: ProxyHeadersParts) {
    this.#parts = parts;
  }

  /** Connections that were closed because of their header. */
  get refused(): number {
    return this.#refused;
  }

  readonly layer = (
    { socket }: { readonly socket: Socket },
    next: (ready: { readonly socket: Socket; readonly address?: string | undefined }) => void,
  ): void => {
    const sender = socket.remoteAddress ?? '';
    if (!this.#parts.isTrusted(sender)) {
      next({ socket });
      return;
    }
    let received: Buffer = Buffer.alloc(0);
    const timer = setTimeout(() => refuse('too late'), this.#parts.withinMs ?? WITHIN_MS);
    const settle = () => {
      clearTimeout(timer);
      socket.off('readable', look).off('end', lost).off('close', settle);
    };
    const refuse = (problem: Refused['problem']) => {
      settle();
      this.#refuse(sender, problem);
      socket.destroy();
    };
    const lost = () => {
      if (received.length > 0) return refuse('incomplete');
      // A health check that only connects.
      settle();
      socket.destroy();
    };
    const look = () => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const header = readProxyHeader(received);
      if (header === 'incomplete') return;
      if (header === 'malformed') return refuse('missing or malformed');
      settle();
      const rest = received.subarray(header.bytes);
      if (rest.length > 0) socket.unshift(rest);
      next({ socket, address: header.address });
    };
    socket.on('readable', look).on('end', lost).on('close', settle);
  };

  #refuse(remote_address: string, problem: Refused['problem']): void {
    this.#refused += 1;
    const now = performance.now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    this.#parts.onRefused({ event: 'proxy_header_refused', remote_address, problem });
  }
}
