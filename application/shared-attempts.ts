import type { Caller } from './ports/caller.ts';
import { verificationFault } from './ports/verification-slots.ts';

/** The outcome of an attempt, and whether the caller began it. */
interface Shared<Outcome> {
  readonly outcome: Outcome;
  readonly isOwn: boolean;
}

interface Running<Outcome> {
  readonly callers: Set<PromiseWithResolvers<Outcome>>;
  /** Aborted when all callers have disconnected. */
  readonly abandoned: AbortController;
}

/**
 * Callers that present the same credentials at the same time share one attempt: a client with a thousand connections is
 * verified once. As many attempts and callers are held as there are requests in progress.
 */
export class SharedAttempts<Outcome> {
  readonly #running = new Map<string, Running<Outcome>>();

  /**
   * Joins the attempt with this key that runs, or begins one. Rejects with what the attempt throws, or with
   * DependencyUnavailable as soon as this caller disconnects.
   */
  async join(
    key: string,
    { network, disconnected }: Caller,
    begin: (caller: Caller) => Promise<Outcome>,
  ): Promise<Shared<Outcome>> {
    if (disconnected.aborted) throw verificationFault('the caller has disconnected');
    const found = this.#running.get(key);
    const running = found ?? { callers: new Set(), abandoned: new AbortController() };
    const own = Promise.withResolvers<Outcome>();
    running.callers.add(own);
    if (found === undefined) {
      this.#running.set(key, running);
      void begin({ network, disconnected: running.abandoned.signal }).then(
        (outcome) => this.#end(key, running, (caller) => caller.resolve(outcome)),
        (fault) => this.#end(key, running, (caller) => caller.reject(fault)),
      );
    }
    const onDisconnected = () => {
      own.reject(verificationFault('the caller has disconnected'));
      running.callers.delete(own);
      if (running.callers.size > 0) return;
      this.#forget(key, running);
      running.abandoned.abort();
    };
    disconnected.addEventListener('abort', onDisconnected);
    try {
      return { outcome: await own.promise, isOwn: found === undefined };
    } finally {
      disconnected.removeEventListener('abort', onDisconnected);
    }
  }

  #end(key: string, running: Running<Outcome>, settle: (caller: PromiseWithResolvers<Outcome>) => void): void {
    this.#forget(key, running);
    for (const caller of running.callers) settle(caller);
  }

  /** The next caller begins another one. */
  #forget(key: string, running: Running<Outcome>): void {
    if (this.#running.get(key) === running) this.#running.delete(key);
  }
}
