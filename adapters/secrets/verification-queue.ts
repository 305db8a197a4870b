import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import {
  type SlotRequest,
  SlotsExhausted,
  type VerificationKind,
  type VerificationSlots,
  verificationFault,
} from '../../application/ports/verification-slots.ts';
import { FairQueue } from './fair-queue.ts';

export interface VerificationQueueLimits {
  /** Verifications that run at once. */
  readonly concurrent: number;
  /**
   * Work that may wait in the FIFO queue for each of them, such as BCrypt rounds; one request may, whatever it costs.
   */
  readonly fifoRounds: number;
  /** Requests without a response, whether they wait for a slot or for the time of their response. */
  readonly unanswered: number;
  /** Milliseconds after which a request that still waits gets 503. */
  readonly waitMs: number;
  /** Look-ups at once. Requests whose secret is cached need look-ups too, and must not wait behind these. */
  readonly lookUps: number;
  /**
   * Whether each client is looked up before it waits, so that a slot never waits for a look-up; otherwise only in the
   * overflow queue.
   */
  readonly looksUpFirst: boolean;
  /** Attempts of a client id and network that may wait for their response in the overflow queue. */
  readonly placesOfPair: number;
}

/**
 * The FIFO queue holds about 0.26 s of a core's work at cost 10. Ten seconds are as long as callers commonly wait:
 * after a restart nobody is refused while the cores can verify in this time what arrives at once.
 */
export const VERIFICATION_QUEUE_LIMITS: VerificationQueueLimits = {
  concurrent: 1,
  fifoRounds: 4 * 2 ** 10,
  unanswered: 8_192,
  waitMs: 10_000,
  lookUps: 16,
  looksUpFirst: true,
  placesOfPair: 4,
};

/**
 * The FIFO queue holds about 0.26 s of a core's work. Many clients with keys share a process, and they wait in it as
 * long as their assertions are right. One that waits holds its body, up to 16 KiB. An assertion cannot be guessed, so
 * all may wait.
 */
export const ASSERTION_QUEUE_LIMITS: VerificationQueueLimits = {
  concurrent: 1,
  fifoRounds: 2_048,
  unanswered: 4_096,
  waitMs: 2_000,
  lookUps: 16,
  looksUpFirst: false,
  placesOfPair: Infinity,
};

/**
 * The fraction of the waiting time in which a verification may still begin. Those that begin later would end after
 * their response: under a lasting overload, in which each request is served just before its time is over, nearly all
 * would.
 */
const STARTS_UNTIL = 0.9;

/** The database is too slow for the requests that come, and their verification had not yet begun to wait for a core. */
const NOT_LOOKED_UP = new DependencyUnavailable('client repository', new Error('no look-up ended in time'));

/*
 * The states of a request. With `looksUpFirst`, each begins with the look-up; otherwise with the FIFO queue, if that
 * has room.
 *
 * | state | is in | goes on |
 * |---|---|---|
 * | to look up | #unanswered, #toLookUp | one of `lookUps` is free: looked up, then FIFO or overflow |
 * | FIFO | #unanswered, #fifo | a slot is free: runs, and the verdict is the response |
 * | overflow | #unanswered, #overflow, #ofPairs | a slot is free, and #fifo empty: runs; after `startBy`: late |
 * | runs from the overflow queue | #unanswered, #ofPairs | a right secret is the response; after every other verdict: late |
 * | late | #unanswered, #ofPairs | 503 when the waiting time is over |
 *
 * A request that is still to be looked up when its time is over gets the fault of the database, not that of the cores.
 * In each of these states, 503 comes at once if the caller disconnects, the queue closes, the waiting time is over, or
 * (of those in #ofPairs) four newer ones of the pair have come. What runs from the FIFO queue is in no set: its verdict
 * is the response, unless the caller disconnects.
 *
 * What holds at every moment, with its test in tests/adapters/secrets/verification-queue.test.ts:
 * - No more run than slots: "never runs more verifications at once than its limit".
 * - While one waits in the overflow queue, none enters the FIFO queue: "lets nobody overtake those that wait in the
 *   overflow queue".
 * - In the overflow queue, only a right secret has a time of its own: "answers every other request in the overflow
 *   queue when the waiting time is over: wrong secret, unknown id and not verified".
 * - #unanswered is bounded: "refuses at once when its limit of unanswered requests is reached, …"; the FIFO queue by
 *   its work: "lets as many rounds wait in the FIFO queue for each verification that runs"; the shares: "keeps no more
 *   clients and networks than its bound".
 * - An answered request is in no set: "keeps nothing of requests that were answered".
 */

type Queue = 'fifo' | 'overflow';

/** A request, until it is answered. */
interface Attempt {
  readonly request: SlotRequest;
  /** Answers when the waiting time is over. */
  readonly timer: NodeJS.Timeout;
  /** No verification begins after this, in milliseconds of `performance.now()`. */
  readonly startBy: number;
  /** Whether it waits for cores only. */
  isLookedUp: boolean;
  /** Runs the verification, and answers if a request from this queue may know the verdict. Never rejects. */
  readonly verify: (queue: Queue) => Promise<void>;
  /** Answers with a fault, unless the attempt is answered. */
  readonly reject: (fault: unknown) => void;
}

/**
 * Lets few verifications run at once. The next ones wait in a short FIFO queue, in which all requests are alike. When
 * it is full, and until nobody waits there any more, further requests wait in the overflow queue, which clients and
 * networks share fairly; all unregistered ids count as one client. There, only a right secret is answered when it is
 * verified. Every other request gets 503 exactly when the waiting time is over, or when four newer ones of its client
 * id and network have come, whether it was verified or not: behind a burst of guesses, the next secret does not wait
 * for them. A flood hardly delays a client with a valid secret, and neither a response nor its time tells a wrong
 * secret from an unknown id. Decision 0202 has the reasons.
 */
export class VerificationQueue implements VerificationSlots {
  readonly #limits: VerificationQueueLimits;
  readonly #kind: VerificationKind;
  /** All attempts without a response, except those from the FIFO queue whose verification runs. */
  readonly #unanswered = new Set<Attempt>();
  /**
   * Attempts that wait until their client is looked up: on a slow database, a flood waits here and not for slots.
   * Shared fairly without knowing who is registered.
   */
  readonly #toLookUp = new FairQueue<Attempt>();
  #lookUps = 0;
  readonly #fifo = new Set<Attempt>();
  /** The work that waits in the FIFO queue. */
  #fifoRounds = 0;
  readonly #overflow = new FairQueue<Attempt>();
  /** The attempts in the overflow queue of each client id and network without a response, the oldest first. */
  readonly #ofPairs = new Map<string, Set<Attempt>>();
  /** The verifications that run. */
  #running = 0;
  #closed = false;

  constructor(limits = VERIFICATION_QUEUE_LIMITS, kind: VerificationKind = 'secret verification') {
    this.#limits = limits;
    this.#kind = kind;
  }

  /** Verifications that run, that wait in each queue, and the requests without a response. */
  get load(): {
    readonly running: number;
    readonly fifo: number;
    readonly overflow: number;
    readonly unanswered: number;
  } {
    const [fifo, overflow, unanswered] = [this.#fifo.size, this.#overflow.size, this.#unanswered.size];
    return { running: this.#running, fifo, overflow, unanswered };
  }

  /** Clients and networks whose share of the overflow queue is kept. */
  get shares(): number {
    return this.#overflow.shares;
  }

  /** What bounds `load`; the FIFO queue is bounded by the work in it. */
  get limits(): VerificationQueueLimits {
    return this.#limits;
  }

  async run<Verdict>(
    request: SlotRequest,
    verify: () => Promise<Verdict>,
    isRight: (verdict: Verdict) => boolean,
  ): Promise<Verdict> {
    const { disconnected } = request.caller;
    if (this.#closed) throw this.#fault('the service stops');
    if (disconnected.aborted) throw this.#fault('the caller has disconnected');
    if (this.#unanswered.size >= this.#limits.unanswered) {
      const isDatabaseSlow = this.#toLookUp.size > this.#limits.unanswered / 2;
      throw isDatabaseSlow ? NOT_LOOKED_UP : new SlotsExhausted('the verification queue is full', this.#kind);
    }
    const { promise: response, resolve, reject } = Promise.withResolvers<Verdict>();
    const { waitMs } = this.#limits;
    const late = () => {
      const exhausted = new SlotsExhausted('no slot was free in time', this.#kind);
      this.#fail(attempt, attempt.isLookedUp ? exhausted : NOT_LOOKED_UP);
    };
    const attempt: Attempt = {
      request,
      isLookedUp: !this.#limits.looksUpFirst,
      timer: setTimeout(late, waitMs),
      startBy: performance.now() + waitMs * STARTS_UNTIL,
      verify: async (queue) => {
        this.#running += 1;
        try {
          const verdict = await verify();
          if (queue === 'fifo' || isRight(verdict)) resolve(verdict);
        } catch (fault) {
          reject(fault);
        } finally {
          this.#running -= 1;
          this.#startNext();
        }
      },
      reject,
    };
    const onDisconnected = () => this.#fail(attempt, this.#fault('the caller has disconnected'));
    disconnected.addEventListener('abort', onDisconnected);
    this.#unanswered.add(attempt);
    this.#begin(attempt);
    try {
      return await response;
    } finally {
      this.#unanswered.delete(attempt);
      this.#leavePair(attempt);
      clearTimeout(attempt.timer);
      disconnected.removeEventListener('abort', onDisconnected);
    }
  }

  /**
   * Refuses the requests that wait, and new ones. A verification that runs is not stopped; one from the FIFO queue is
   * answered.
   */
  close(): void {
    this.#closed = true;
    for (const attempt of this.#unanswered) this.#fail(attempt, this.#fault('the service stops'));
  }

  /** Answers with a fault, in whatever state the attempt is. */
  #fail(attempt: Attempt, fault: unknown): void {
    this.#unanswered.delete(attempt);
    this.#removeFromFifo(attempt);
    this.#overflow.remove(attempt);
    this.#toLookUp.remove(attempt);
    attempt.reject(fault);
    this.#startNext();
  }

  #begin(attempt: Attempt): void {
    if (this.#limits.looksUpFirst || !this.#addToFifo(attempt)) {
      this.#toLookUp.add(attempt, true);
      this.#startLookUps();
    }
    this.#startNext();
  }

  #startLookUps(): void {
    while (this.#lookUps < this.#limits.lookUps) {
      const attempt = this.#toLookUp.take();
      if (attempt === undefined) return;
      this.#lookUps += 1;
      void this.#lookUp(attempt).finally(() => {
        this.#lookUps -= 1;
        this.#startLookUps();
      });
    }
  }

  /**
   * What depends on the outcome is only the order in the overflow queue, where every response but a right secret has
   * the same time.
   */
  async #lookUp(attempt: Attempt): Promise<void> {
    try {
      const isRegistered = await attempt.request.isRegistered();
      attempt.isLookedUp = true;
      // The caller may have got a response in the meantime.
      if (!this.#unanswered.has(attempt)) return;
      if (!this.#limits.looksUpFirst || !this.#addToFifo(attempt)) this.#addToOverflow(attempt, isRegistered);
      this.#startNext();
    } catch (fault) {
      this.#fail(attempt, fault);
    }
  }

  /** Returns false if it has no room there. Nobody overtakes those that wait in the overflow queue. */
  #addToFifo(attempt: Attempt): boolean {
    const rounds = roundsOf(attempt);
    const fits =
      this.#fifo.size === 0 || this.#fifoRounds + rounds <= this.#limits.fifoRounds * this.#limits.concurrent;
    if (this.#overflow.size > 0 || !fits) return false;
    this.#fifo.add(attempt);
    this.#fifoRounds += rounds;
    return true;
  }

  /**
   * The newest attempt takes the place of the oldest of its pair, which is answered now. This depends on when attempts
   * come and on nothing else: a response to those that have lost their place, and to no others, would tell who was
   * served.
   */
  #addToOverflow(attempt: Attempt, isRegistered: boolean): void {
    const attempts = this.#ofPairs.get(pairOf(attempt)) ?? new Set();
    this.#ofPairs.set(pairOf(attempt), attempts.add(attempt));
    const [oldest] = attempts;
    if (oldest === undefined || attempts.size <= this.#limits.placesOfPair) {
      this.#overflow.add(attempt, isRegistered);
      return;
    }
    this.#leavePair(oldest);
    if (!this.#overflow.replace(oldest, attempt)) this.#overflow.add(attempt, isRegistered);
    this.#fail(oldest, new SlotsExhausted('newer attempts of the same client came', this.#kind));
  }

  #leavePair(attempt: Attempt): void {
    const attempts = this.#ofPairs.get(pairOf(attempt));
    attempts?.delete(attempt);
    if (attempts?.size === 0) this.#ofPairs.delete(pairOf(attempt));
  }

  #removeFromFifo(attempt: Attempt): void {
    if (this.#fifo.delete(attempt)) this.#fifoRounds -= roundsOf(attempt);
  }

  #startNext(): void {
    while (this.#running < this.#limits.concurrent) {
      const [first] = this.#fifo;
      const next = first ?? this.#takeFromOverflow();
      if (next === undefined) return;
      if (first !== undefined) {
        this.#removeFromFifo(first);
        this.#unanswered.delete(first);
        clearTimeout(first.timer);
      }
      void next.verify(first === undefined ? 'overflow' : 'fifo');
    }
  }

  /** Those that are too late only wait for their response. */
  #takeFromOverflow(): Attempt | undefined {
    let next = this.#overflow.take();
    while (next !== undefined && next.startBy < performance.now()) next = this.#overflow.take();
    return next;
  }

  #fault(reason: string): DependencyUnavailable {
    return verificationFault(reason, this.#kind);
  }
}

function roundsOf({ request }: Attempt): number {
  return 2 ** request.cost;
}

/** A network has no space, so no two pairs are one text. */
function pairOf({ request }: Attempt): string {
  return `${request.caller.network} ${request.clientId}`;
}
