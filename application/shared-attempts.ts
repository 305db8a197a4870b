import type { Connected } from './ports/caller.ts';
import { verificationFault } from './ports/verification-slots.ts';

/** The outcome of an attempt, and whether the caller began it. */
interface Shared<Outcome> {
  readonly outcome: Outcome;
  readonly isOwn: boolean;
}

interface Running<Outcome> {
  readonly outcome: Promise<Outcome>;
  /** Aborted when all callers have disconnected. */
  readonly abandoned: AbortController;
  callers: number;
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
    { network, disconnected }: Connected,
    begin: (caller: Connected) => Promise<Outcome>,
  ): Promise<Shared<Outcome>> {
    if (disconnected.aborted) throw verificationFault('the caller has disconnected');
    const found = this.#running.get(key);
    const running = found ?? this.#begin(key, network, begin);
    running.callers += 1;
    const left = Promise.withResolvers<never>();
    const onDisconnected = () => {
      left.reject(verificationFault('the caller has disconnected'));
      running.callers -= 1;
      if (running.callers > 0) return;
      this.#forget(key, running);
      running.abandoned.abort();
    };
    disconnected.addEventListener('abort', onDisconnected);
    try {
      return { outcome: await Promise.race([running.outcome, left.promise]), isOwn: found === undefined };
    } finally {
      disconnected.removeEventListener('abort', onDisconnected);
    }
  }

  #begin(key: string, network: string, begin: (caller: Connected) => Promise<Outcome>): Running<Outcome> {
    const abandoned = new AbortController();
    const outcome = begin({ network, disconnected: abandoned.signal }).finally(() => this.#forget(key, running));
    const running: Running<Outcome> = { outcome, abandoned, callers: 0 };
    this.#running.set(key, running);
    return running;
  }

  /** The next caller begins another one. */
  #forget(key: string, running: Running<Outcome>): void {
    if (this.#running.get(key) === running) this.#running.delete(key);
  }
}
