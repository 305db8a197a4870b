import { type CheckRequest, type CheckTurns, NoRoomToWait } from '../../application/ports/check-turns.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import { type Half, type Waiting, WaitingRoom } from './waiting-lists.ts';

export interface CheckQueueLimits {
  /** Checks that run at the same time; one more where those are much dearer. */
  readonly atOnce: number;
  /** BCrypt rounds that may wait in the line; one check may, whatever it costs. */
  readonly lineRounds: number;
  /** Checks that may wait for a turn in the crowd. */
  readonly crowd: number;
  /** Callers who may wait for an answer at all, be there a turn for them or not. */
  readonly unanswered: number;
  /** Milliseconds after which who still waits is told to come again. */
  readonly waitMs: number;
}

/** One check at a time, as suits two cores; the line is 0.2 s of a core long, at cost 10. */
export const CHECK_QUEUE_LIMITS: CheckQueueLimits = {
  atOnce: 1,
  lineRounds: 4 * 2 ** 10,
  crowd: 512,
  unanswered: 2_048,
  waitMs: 2_000,
};

/** Log2 of how many times the rounds. */
const MUCH_DEARER = 2;

interface WaitingCheck extends Waiting {
  readonly check: () => Promise<SecretVerdict>;
  readonly resolve: (verdict: SecretVerdict) => void;
  readonly reject: (fault: unknown) => void;
  /** Stops the clock of the waiting time. */
  readonly stopClock: () => void;
}

/**
 * Lets few checks run at once. Those who come next stand in a short line, in which everybody is alike. When the line is
 * full, the others are a crowd: each client has a lane in it, unknown ids share one, and the lane that had least work done
 * comes next; but only who proves his secret is answered when his check is done. Everybody else in the crowd is answered
 * 503 when the waiting time is over, not before and not otherwise. So a flood delays a good client by little, and neither
 * the answer nor its time tells a wrong secret from an unknown id. Line and crowd share the work in halves, so that
 * the line moves as fast whoever is in the crowd. Decision 0202 tells why it is no simpler.
 */
export class CheckQueue implements CheckTurns {
  readonly #limits: CheckQueueLimits;
  readonly #room: WaitingRoom<WaitingCheck>;
  /** All who have no answer yet, but for those of the line whose check runs. */
  readonly #unanswered = new Set<WaitingCheck>();
  /** The cost of each check that runs. */
  readonly #running: number[] = [];
  #closed = false;

  constructor(limits: CheckQueueLimits = CHECK_QUEUE_LIMITS) {
    this.#limits = limits;
    this.#room = new WaitingRoom(limits.lineRounds * limits.atOnce, limits.crowd);
  }

  /** Checks that run, and that wait in the line and in the crowd. */
  get load(): { readonly running: number; readonly line: number; readonly crowd: number } {
    return { running: this.#running.length, ...this.#room.load };
  }

  take(request: CheckRequest, check: () => Promise<SecretVerdict>): Promise<SecretVerdict> {
    const { promise, resolve, reject } = Promise.withResolvers<SecretVerdict>();
    const { disconnected } = request.caller;
    const refuse = (reason: string) => {
      this.#room.leave(waiting);
      reject(refusal(reason));
      this.#startNext();
    };
    const onGone = () => refuse('the caller has gone');
    const timer = setTimeout(() => refuse('no check was free in time'), this.#limits.waitMs);
    const waiting: WaitingCheck = { request, check, resolve, reject, stopClock: () => clearTimeout(timer) };

    disconnected.addEventListener('abort', onGone);
    if (this.#closed) refuse('the service stops');
    else if (disconnected.aborted) onGone();
    else if (this.#unanswered.size >= this.#limits.unanswered) reject(new NoRoomToWait());
    else {
      this.#unanswered.add(waiting);
      this.#room.enter(waiting);
      this.#startNext();
    }

    return promise.finally(() => {
      this.#unanswered.delete(waiting);
      clearTimeout(timer);
      disconnected.removeEventListener('abort', onGone);
    });
  }

  /** Refuses what waits, and what comes. A check that runs cannot be stopped, and one of the line is waited for. */
  close(): void {
    this.#closed = true;
    for (const waiting of this.#unanswered) {
      this.#room.leave(waiting);
      waiting.reject(refusal('the service stops'));
    }
  }

  #startNext(): void {
    const mayRun = (request: CheckRequest) => this.#mayRun(request);
    for (let next = this.#room.takeNext(mayRun); next !== undefined; next = this.#room.takeNext(mayRun)) {
      void this.#run(next.who, next.half);
    }
  }

  /** One more may run where all that run are much dearer: a check of seconds holds nobody else up. */
  #mayRun({ cost }: CheckRequest): boolean {
    const { atOnce } = this.#limits;
    const beside = this.#running.length === atOnce && this.#running.every((running) => running >= cost + MUCH_DEARER);
    return this.#running.length < atOnce || beside;
  }

  async #run(waiting: WaitingCheck, half: Half): Promise<void> {
    const { request, check, resolve, reject, stopClock } = waiting;
    this.#running.push(request.cost);
    if (half === 'line') {
      this.#unanswered.delete(waiting);
      stopClock();
    }
    try {
      const verdict = await check();
      if (half === 'line' || verdict === 'match') resolve(verdict);
    } catch (fault) {
      reject(fault);
    } finally {
      this.#running.splice(this.#running.indexOf(request.cost), 1);
      this.#startNext();
    }
  }
}

function refusal(reason: string): DependencyUnavailable {
  return new DependencyUnavailable('secret verification', new Error(reason));
}
