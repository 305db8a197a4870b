import type { Socket } from 'node:net';

const PACING_LIMITS = {
  /** Responses of each kind in one pass of the event loop. 64 refusals need about 6 ms. */
  perPass: 64,
  /** Responses that wait at once. */
  waiting: 10_000,
};

/** Kinds do not wait for each other. `token`: a token was issued, or a valid one was presented. */
const KINDS = ['token', 'repeated refusal', 'other'] as const;

type Kind = (typeof KINDS)[number];

interface Waiting {
  readonly socket: Socket;
  readonly send: () => void;
}

/**
 * Sends few responses in one pass of the event loop, the next ones in the next pass. Each response of a flood brings
 * the next request, and Node.js reads requests from up to 48 times 1,024 sockets before it goes on to its timers and to
 * what threads have signed: without this, a thousand connections that repeat what is refused keep everybody from a
 * token.
 */
export class ResponsePacing {
  readonly #limits: typeof PACING_LIMITS;
  readonly #sent: Record<Kind, number> = { token: 0, 'repeated refusal': 0, other: 0 };
  readonly #queues: Record<Kind, Set<Waiting>> = {
    token: new Set(),
    'repeated refusal': new Set(),
    other: new Set(),
  };
  #isPassAwaited = false;

  constructor(limits = PACING_LIMITS) {
    this.#limits = limits;
  }

  /** Responses that wait. */
  get waiting(): number {
    return KINDS.reduce((sum, kind) => sum + this.#queues[kind].size, 0);
  }

  get max(): number {
    return this.#limits.waiting;
  }

  /** Whether no further response may wait. It is sent at once then, and ends its connection. */
  get full(): boolean {
    return this.waiting >= this.#limits.waiting;
  }

  /** Counts a response that is ready. Returns whether it must `wait` before it is sent. */
  mustWait(kind: Kind): boolean {
    this.#awaitPass();
    if (this.#sent[kind] >= this.#limits.perPass) return true;
    this.#sent[kind] += 1;
    return false;
  }

  wait(kind: Kind, socket: Socket): Promise<void> {
    return new Promise((send) => this.#queues[kind].add({ socket, send }));
  }

  #awaitPass(): void {
    if (this.#isPassAwaited) return;
    this.#isPassAwaited = true;
    setImmediate(() => {
      this.#isPassAwaited = false;
      for (const kind of KINDS) this.#startPass(kind);
      if (KINDS.some((kind) => this.#sent[kind] > 0)) this.#awaitPass();
    });
  }

  #startPass(kind: Kind): void {
    const queue = this.#queues[kind];
    this.#sent[kind] = 0;
    for (const waiting of queue) {
      if (this.#sent[kind] >= this.#limits.perPass) return;
      queue.delete(waiting);
      waiting.send();
      // No request follows on a connection that was closed.
      if (!waiting.socket.destroyed) this.#sent[kind] += 1;
    }
  }
}
