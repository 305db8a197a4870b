import type { ServerResponse } from 'node:http';
import type { Caller } from '../../../application/ports/caller.ts';

/** Who waits for a response. The signal is made when it is first asked for: most requests need none. */
export class ResponseCaller implements Caller {
  readonly #response: ServerResponse;
  #disconnected: AbortSignal | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get address(): string {
    return this.#response.req.socket.remoteAddress ?? 'gone';
  }

  get disconnected(): AbortSignal {
    this.#disconnected ??= this.#watch();
    return this.#disconnected;
  }

  #watch(): AbortSignal {
    const controller = new AbortController();
    if (this.#response.destroyed) controller.abort();
    else this.#response.once('close', () => controller.abort());
    return controller.signal;
  }
}
