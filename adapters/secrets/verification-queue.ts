import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import {
  type ClosableVerificationSlots,
  type SlotRequest,
  SlotsExhausted,
  type VerificationKind,
  type VerificationSlot,
  verificationFault,
} from '../../application/ports/verification-slots.ts';
import { FLOWS_MAX } from './fair-share.ts';
import { type QueueName, type Waiting, WaitingVerifications } from './waiting-verifications.ts';

export interface VerificationQueueLimits {
  /** Verifications that run at once. */
  readonly concurrent: number;
  /** Work that may wait in the FIFO queue for each of them, such as BCrypt rounds; one request may, whatever it costs. */
  readonly fifoRounds: number;
  /** Requests that may wait in the overflow queue. */
  readonly overflow: number;
  /** Requests without an answer, whether they wait for a slot or for the time of their answer. */
  readonly unanswered: number;
  /** Milliseconds after which a request that still waits gets 503. */
  readonly waitMs: number;
}

/** One verification at a time suits two cores; the FIFO queue holds 0.2 s of a core's work at cost 10. */
export const VERIFICATION_QUEUE_LIMITS: VerificationQueueLimits = {
  concurrent: 1,
  fifoRounds: 4 * 2 ** 10,
  overflow: 512,
  unanswered: 8_192,
  waitMs: 2_000,
};

/**
 * Of each process that answers requests. The FIFO queue holds 0.2 s of a core's work, as above. Many clients with keys share
 * a process, and they wait in it as long as their assertions are right. One that waits holds its body, up to 16 KiB.
 */
export const ASSERTION_QUEUE_LIMITS: VerificationQueueLimits = {
  concurrent: 1,
  fifoRounds: 2_048,
  overflow: 512,
  unanswered: 4_096,
  waitMs: 2_000,
};

/** Clients and addresses whose work in the overflow queue is remembered. */
export const SHARES_MAX = 2 * FLOWS_MAX;

/**
 * Look-ups at once for requests in the overflow queue. In a flood there are thousands of such requests; those whose secret is
 * cached need look-ups too, and would wait behind all of them for a connection to the database.
 */
export const OVERFLOW_LOOK_UPS_MAX = 16;

interface Attempt extends Waiting {
  readonly grant: (slot: VerificationSlot) => void;
  /** Answers with a fault, in whatever state the attempt is. */
  readonly fail: (fault: DependencyUnavailable) => void;
  readonly stopWaitTimer: () => void;
  readonly answer: PromiseWithResolvers<SecretVerdict>;
}

/**
 * Lets few verifications run at once. The next ones wait in a short FIFO queue, in which all requests are alike. When it
 * is full, further requests wait in the overflow queue, which clients and addresses share fairly; all unregistered ids count
 * as one client. There, only a right secret is answered when it is verified. Every other request gets 503 exactly when the
 * waiting time is over. A flood hardly delays a client with a valid secret, and neither an answer nor its time tells a wrong
 * secret from an unknown id. Each queue gets half of the work, so the FIFO queue moves at the same speed whatever waits in
 * the other. Decision 0202 has the reasons.
 */
export class VerificationQueue implements ClosableVerificationSlots {
  readonly #limits: VerificationQueueLimits;
  readonly #kind: VerificationKind;
  readonly #waiting: WaitingVerifications<Attempt>;
  /** All attempts without an answer, except those from the FIFO queue whose verification runs. */
  readonly #unanswered = new Set<Attempt>();
  /** Attempts for the overflow queue that wait until their client is looked up, first come, first served. */
  readonly #toLookUp = new Set<Attempt>();
  #lookUps = 0;
  /** The attempts whose verification runs. */
  readonly #running = new Set<Attempt>();
  #closed = false;

  constructor(limits = VERIFICATION_QUEUE_LIMITS, kind: VerificationKind = 'secret verification') {
    this.#limits = limits;
    this.#kind = kind;
    this.#waiting = new WaitingVerifications(limits.fifoRounds * limits.concurrent, limits.overflow);
  }

  /** Verifications that run, that wait in each queue, and the requests without an answer. */
  get load(): {
    readonly running: number;
    readonly fifo: number;
    readonly overflow: number;
    readonly unanswered: number;
  } {
    return { running: this.#running.size, ...this.#waiting.load, unanswered: this.#unanswered.size };
  }

  /** Clients and addresses whose work in the overflow queue is remembered, at most {@link SHARES_MAX}. */
  get shares(): number {
    return this.#waiting.shares;
  }

  /** What bounds `load`; the FIFO queue is bounded by the work in it. */
  get limits(): VerificationQueueLimits {
    return this.#limits;
  }

  /** Attempts are not limited here. */
  hasAttemptsLeft(): boolean {
    return true;
  }

  async acquire(request: SlotRequest): Promise<VerificationSlot> {
    if (this.#closed) throw this.#fault('the service stops');
    if (request.caller.disconnected.aborted) throw this.#fault('the caller has disconnected');
    if (this.#unanswered.size >= this.#limits.unanswered) {
      throw new SlotsExhausted('the verification queue is full', this.#kind);
    }
    const granted = Promise.withResolvers<VerificationSlot>();
    const attempt = this.#createAttempt(request, granted);
    this.#unanswered.add(attempt);
    if (!this.#waiting.addToFifo(attempt)) {
      this.#toLookUp.add(attempt);
      this.#startLookUps();
    }
    this.#startNext();
    return granted.promise;
  }

  /** Refuses the requests that wait, and new ones. A verification that runs is not stopped; one from the FIFO queue is answered. */
  close(): void {
    this.#closed = true;
    for (const attempt of this.#unanswered) attempt.fail(this.#fault('the service stops'));
  }

  #createAttempt(request: SlotRequest, granted: PromiseWithResolvers<VerificationSlot>): Attempt {
    const answer = Promise.withResolvers<SecretVerdict>();
    const { disconnected } = request.caller;
    const onDisconnected = () => attempt.fail(this.#fault('the caller has disconnected'));
    const waitMs = Math.min(this.#limits.waitMs, request.waitMs ?? Infinity);
    const late = () => attempt.fail(new SlotsExhausted('no slot was free in time', this.#kind));
    const timer = setTimeout(late, waitMs);
    const attempt: Attempt = {
      request,
      answer,
      grant: granted.resolve,
      stopWaitTimer: () => clearTimeout(timer),
      fail: (reason) => {
        this.#unanswered.delete(attempt);
        this.#waiting.remove(attempt);
        this.#toLookUp.delete(attempt);
        granted.reject(reason);
        answer.reject(reason);
        this.#startNext();
      },
    };
    disconnected.addEventListener('abort', onDisconnected);
    answer.promise
      .catch(() => {})
      .finally(() => {
        this.#unanswered.delete(attempt);
        clearTimeout(timer);
        disconnected.removeEventListener('abort', onDisconnected);
      });
    return attempt;
  }

  #startLookUps(): void {
    for (const attempt of this.#toLookUp) {
      if (this.#lookUps >= OVERFLOW_LOOK_UPS_MAX) return;
      this.#toLookUp.delete(attempt);
      this.#lookUps += 1;
      const ended = Promise.withResolvers<void>();
      const timer = setTimeout(ended.resolve, this.#limits.waitMs);
      void this.#addToOverflow(attempt).finally(ended.resolve);
      void ended.promise.then(() => {
        clearTimeout(timer);
        this.#lookUps -= 1;
        this.#startLookUps();
      });
    }
  }

  /** Only here, where every answer but a right secret has the same time, is the client looked up while the request waits. */
  async #addToOverflow(attempt: Attempt): Promise<void> {
    try {
      const isRegistered = await attempt.request.isRegistered();
      // The caller may have got an answer in the meantime.
      if (this.#unanswered.has(attempt)) this.#waiting.addToOverflow(attempt, isRegistered);
    } catch (reason) {
      attempt.fail(reason instanceof DependencyUnavailable ? reason : this.#fault('the look-up failed'));
    }
    this.#startNext();
  }

  #startNext(): void {
    while (this.#running.size < this.#limits.concurrent) {
      const next = this.#waiting.takeNext();
      if (next === undefined) return;
      next.item.grant(this.#startSlot(next.item, next.queue));
    }
  }

  #startSlot(attempt: Attempt, queue: QueueName): VerificationSlot {
    const { answer, stopWaitTimer } = attempt;
    this.#running.add(attempt);
    if (queue === 'fifo') {
      this.#unanswered.delete(attempt);
      stopWaitTimer();
    }
    const release = () => {
      if (this.#running.delete(attempt)) this.#startNext();
    };
    return {
      refusals: queue === 'fifo' ? 'immediate' : 'deferred',
      settle: (verdict) => {
        if (queue === 'fifo' || verdict === 'match') answer.resolve(verdict);
        release();
        return answer.promise;
      },
      release: () => {
        answer.reject(this.#fault('the verification failed'));
        release();
      },
    };
  }

  #fault(reason: string): DependencyUnavailable {
    return verificationFault(reason, this.#kind);
  }
}
