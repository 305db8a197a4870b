import { randomInt } from 'node:crypto';
import { verificationFault } from '../../application/ports/verification-slots.ts';

/** Decides when the next attempt of a pair may be selected. */
interface Pace {
  /** Milliseconds until then; not positive if it is now. */
  waitMs(): number;
  /** Counts the attempt that is selected now. */
  take(): void;
}

interface PacedAttemptsOptions {
  /** Attempts that may wait, of all pairs together. */
  readonly max: number;
  /** Milliseconds after which an attempt that was not selected is refused. */
  readonly waitMs: number;
  /** Milliseconds after which another attempt of a pair is selected, even if its pace would take longer. Less than `waitMs`. */
  readonly intervalMsMax: number;
}

/**
 * A caller who sends a right secret after a burst of wrong ones gets a token within 5 s, with one retry: at most 2 s of waiting,
 * 1 s of `Retry-After`, and 1.4 s until an attempt that waits alone is selected.
 */
export const PACED_ATTEMPTS: PacedAttemptsOptions = { max: 2_048, waitMs: 1_500, intervalMsMax: 1_400 };

/** An attempt that waits, and whether it is selected. */
type Waiting = PromiseWithResolvers<boolean>;

/** The attempts of one pair that wait. */
interface Room {
  readonly waiting: Waiting[];
  readonly pace: Pace;
  selectedAt: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * The attempts beyond the limit of their client id and address. At its pace, each pair selects one of its waiting attempts
 * at random, so each of them has the same chance, even in a flood. An attempt is dropped when its caller disconnects.
 */
export class PacedAttempts {
  readonly #options: PacedAttemptsOptions;
  readonly #random: (count: number) => number;
  readonly #rooms = new Map<string, Room>();
  #size = 0;
  #closed = false;

  /** @param random returns a whole number from 0 up to and without `count`. */
  constructor(options = PACED_ATTEMPTS, random: (count: number) => number = (count) => randomInt(count)) {
    this.#options = options;
    this.#random = random;
  }

  /** Attempts that wait. */
  get size(): number {
    return this.#size;
  }

  get max(): number {
    return this.#options.max;
  }

  /** Whether an attempt of this pair waits. */
  isWaiting(pair: string): boolean {
    return this.#rooms.has(pair);
  }

  /**
   * Resolves with true when the attempt is selected, and with false when its waiting time is over, or at once if it is
   * evicted. Throws DependencyUnavailable if the caller disconnects or the service stops.
   */
  async wait(pair: string, disconnected: AbortSignal, pace: Pace): Promise<boolean> {
    if (this.#closed) throw verificationFault('the service stops');
    if (disconnected.aborted) throw verificationFault('the caller has disconnected');
    if (this.#size >= this.#options.max && !this.#evict()) return false;
    const attempt = Promise.withResolvers<boolean>();
    const room = this.#rooms.get(pair) ?? { waiting: [], pace, selectedAt: performance.now(), timer: undefined };
    this.#rooms.set(pair, room);
    room.waiting.push(attempt);
    this.#size += 1;
    this.#schedule(pair, room);

    const onDisconnected = () => attempt.reject(verificationFault('the caller has disconnected'));
    disconnected.addEventListener('abort', onDisconnected);
    const timer = setTimeout(() => attempt.resolve(false), this.#options.waitMs);
    try {
      return await attempt.promise;
    } finally {
      clearTimeout(timer);
      disconnected.removeEventListener('abort', onDisconnected);
      this.#remove(pair, room, attempt);
    }
  }

  /** Call when an attempt of this pair becomes available ahead of its time. */
  wake(pair: string): void {
    const room = this.#rooms.get(pair);
    if (room === undefined || room.pace.waitMs() > 0) return;
    clearTimeout(room.timer);
    this.#select(pair, room);
  }

  /** Refuses the attempts that wait, and new ones. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#rooms.values())
      for (const { reject } of waiting) reject(verificationFault('the service stops'));
  }

  #schedule(pair: string, room: Room): void {
    const sinceMs = performance.now() - room.selectedAt;
    const waitMs = Math.min(room.pace.waitMs(), this.#options.intervalMsMax - sinceMs);
    room.timer ??= setTimeout(() => this.#select(pair, room), Math.max(0, waitMs));
  }

  #select(pair: string, room: Room): void {
    room.timer = undefined;
    room.selectedAt = performance.now();
    do {
      room.pace.take();
      this.#takeRandom(pair, room)?.resolve(true);
    } while (room.waiting.length > 0 && room.pace.waitMs() <= 0);
    if (room.waiting.length > 0) this.#schedule(pair, room);
  }

  /** Refuses a random attempt of the pair that has the most. Returns false if no pair has two. */
  #evict(): boolean {
    let largest: readonly [string, Room] | undefined;
    for (const entry of this.#rooms) {
      if (entry[1].waiting.length > (largest?.[1].waiting.length ?? 0)) largest = entry;
    }
    if (largest === undefined || largest[1].waiting.length < 2) return false;
    this.#takeRandom(...largest)?.resolve(false);
    return true;
  }

  #takeRandom(pair: string, room: Room): Waiting | undefined {
    const attempt = room.waiting[this.#random(room.waiting.length)];
    if (attempt !== undefined) this.#remove(pair, room, attempt);
    return attempt;
  }

  /** Does nothing for an attempt that does not wait any more. */
  #remove(pair: string, room: Room, attempt: Waiting): void {
    const place = room.waiting.indexOf(attempt);
    if (place === -1) return;
    room.waiting.splice(place, 1);
    this.#size -= 1;
    if (room.waiting.length > 0 || this.#rooms.get(pair) !== room) return;
    clearTimeout(room.timer);
    this.#rooms.delete(pair);
  }
}
