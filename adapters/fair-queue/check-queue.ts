import { type CheckRequest, type CheckTurns, NoRoomToWait } from '../../application/ports/check-turns.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import { FairShare } from './fair-share.ts';

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

type Half = 'line' | 'crowd';

/** Log2 of how many times the rounds. */
const MUCH_DEARER = 2;

/** The lane of every client id that is not registered. */
const UNKNOWN = Symbol('unknown clients');

interface Waiting {
  readonly request: CheckRequest;
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
  readonly #line = new Set<Waiting>();
  readonly #crowd = new Map<string | symbol, Set<Waiting>>();
  readonly #halves = new FairShare<Half>();
  readonly #lanes = new FairShare<string | symbol>();
  #crowded = 0;
  /** All who have no answer yet, but for those of the line whose check runs. */
  readonly #unanswered = new Set<Waiting>();
  /** The cost of each check that runs. */
  readonly #running: number[] = [];
  #closed = false;

  constructor(limits: CheckQueueLimits = CHECK_QUEUE_LIMITS) {
    this.#limits = limits;
  }

  /** Checks that run, and that wait in the line and in the crowd. */
  get load(): { readonly running: number; readonly line: number; readonly crowd: number } {
    return { running: this.#running.length, line: this.#line.size, crowd: this.#crowded };
  }

  take(request: CheckRequest, check: () => Promise<SecretVerdict>): Promise<SecretVerdict> {
    const { promise, resolve, reject } = Promise.withResolvers<SecretVerdict>();
    const { gone } = request.caller;
    const refuse = (reason: string) => {
      this.#leave(waiting);
      reject(refusal(reason));
      this.#startNext();
    };
    const onGone = () => refuse('the caller has gone');
    const timer = setTimeout(() => refuse('no check was free in time'), this.#limits.waitMs);
    const waiting: Waiting = { request, check, resolve, reject, stopClock: () => clearTimeout(timer) };

    gone.addEventListener('abort', onGone);
    if (this.#closed) refuse('the service stops');
    else if (gone.aborted) onGone();
    else if (this.#unanswered.size >= this.#limits.unanswered) reject(new NoRoomToWait());
    else {
      this.#unanswered.add(waiting);
      if (this.#hasRoomInLine(request)) this.#line.add(waiting);
      else this.#joinCrowd(waiting);
      this.#startNext();
    }

    return promise.finally(() => {
      this.#unanswered.delete(waiting);
      clearTimeout(timer);
      gone.removeEventListener('abort', onGone);
    });
  }

  /** Refuses what waits, and what comes. A check that runs cannot be stopped, and one of the line is waited for. */
  close(): void {
    this.#closed = true;
    for (const waiting of this.#unanswered) {
      this.#leave(waiting);
      waiting.reject(refusal('the service stops'));
    }
  }

  #hasRoomInLine({ cost }: CheckRequest): boolean {
    let rounds = 2 ** cost;
    for (const { request } of this.#line) rounds += 2 ** request.cost;
    return this.#line.size === 0 || rounds <= this.#limits.lineRounds * this.#limits.atOnce;
  }

  /** Where the crowd is full, the last of the longest lane gives up his turn, and is answered when his time is over. */
  #joinCrowd(waiting: Waiting): void {
    if (this.#crowded >= this.#limits.crowd) {
      const longest = [...this.#crowd.values()].reduce((one, other) => (other.size > one.size ? other : one));
      const last = [...longest].at(-1);
      if (last !== undefined) this.#leave(last);
    }
    const name = laneOf(waiting);
    const lane = this.#crowd.get(name) ?? new Set();
    this.#crowd.set(name, lane.add(waiting));
    this.#crowded += 1;
  }

  #leave(waiting: Waiting): void {
    this.#line.delete(waiting);
    const name = laneOf(waiting);
    const lane = this.#crowd.get(name);
    if (!lane?.delete(waiting)) return;
    this.#crowded -= 1;
    if (lane.size === 0) this.#crowd.delete(name);
  }

  #startNext(): void {
    for (;;) {
      const halves: Half[] = [];
      if (this.#line.size > 0) halves.push('line');
      if (this.#crowd.size > 0) halves.push('crowd');
      const first = this.#halves.next(halves);
      const half = [first, ...halves].find((one) => one !== undefined && this.#mayRunNextOf(one));
      if (half === undefined) return;
      const { lane, next } = this.#nextOf(half);
      if (next === undefined) return;

      const rounds = 2 ** next.request.cost;
      this.#halves.charge(half, rounds);
      if (lane !== undefined) this.#lanes.charge(lane, rounds);
      this.#leave(next);
      void this.#run(next, half);
    }
  }

  #nextOf(half: Half): { readonly lane: string | symbol | undefined; readonly next: Waiting | undefined } {
    const lane = half === 'crowd' ? this.#lanes.next(this.#crowd.keys()) : undefined;
    const [next] = (lane === undefined ? this.#line : this.#crowd.get(lane)) ?? [];
    return { lane, next };
  }

  #mayRunNextOf(half: Half): boolean {
    const { next } = this.#nextOf(half);
    return next !== undefined && this.#mayRun(next.request);
  }

  /** One more may run where all that run are much dearer: a check of seconds holds nobody else up. */
  #mayRun({ cost }: CheckRequest): boolean {
    const { atOnce } = this.#limits;
    const beside = this.#running.length === atOnce && this.#running.every((running) => running >= cost + MUCH_DEARER);
    return this.#running.length < atOnce || beside;
  }

  async #run(waiting: Waiting, half: Half): Promise<void> {
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

function laneOf({ request }: Waiting): string | symbol {
  return request.registered ? request.clientId : UNKNOWN;
}

function refusal(reason: string): DependencyUnavailable {
  return new DependencyUnavailable('secret verification', new Error(reason));
}
