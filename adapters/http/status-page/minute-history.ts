import type { Clock } from '../../../application/ports/clock.ts';
import type { RequestCounter, RequestLine } from '../../../application/ports/telemetry.ts';
import { TOKEN_PATH } from '../endpoints/paths.ts';

/** One hour. */
export const MINUTES_MAX = 60;

/** Durations are counted up to bounds that are a fifth apart, from 0.1 ms to 16 s. */
const [FIRST_BOUND_MS, FACTOR, BOUNDS] = [0.1, 1.2, 66];

interface Counted {
  readonly minute: number;
  tokens: number;
  refusals: number;
  readonly durations: Uint32Array;
}

/** What was counted in one minute. Durations in milliseconds: null without a token. */
export interface MinuteOfHistory {
  /** When it began, in seconds since 1970. */
  readonly at: number;
  readonly tokens: number;
  readonly refusals: number;
  readonly p50: number | null;
  readonly p99: number | null;
}

/** The last hour of the public port, by minute, in memory: about 20 KiB. */
export class MinuteHistory implements RequestCounter {
  readonly #clock: Clock;
  /** The latest last. */
  #minutes: readonly Counted[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Minutes with a request, at most 60. */
  get size(): number {
    return this.#minutes.length;
  }

  /**
   * Counts a token, or a refusal; not those of strangers who ask for unknown paths. Never throws, and takes less than a
   * microsecond.
   */
  count({ route, status, reason, duration_ms: milliseconds }: RequestLine): void {
    const isToken = route === TOKEN_PATH && status === 200;
    const isRefusal = reason !== undefined && (route !== 'none' || status >= 500);
    if (!isToken && !isRefusal) return;
    const counted = this.#now();
    if (isRefusal) counted.refusals += 1;
    if (!isToken) return;
    counted.tokens += 1;
    const bound = Math.ceil(Math.log(milliseconds / FIRST_BOUND_MS) / Math.log(FACTOR));
    const index = Math.min(Math.max(bound, 0), BOUNDS - 1);
    counted.durations[index] = (counted.durations[index] ?? 0) + 1;
  }

  /** Every minute from the first one with a request, the latest last. */
  minutes(): readonly MinuteOfHistory[] {
    const last = Math.floor(this.#clock.now() / 60);
    const kept = this.#minutes.filter(({ minute }) => minute > last - MINUTES_MAX && minute <= last);
    const [first] = kept;
    if (first === undefined) return [];
    return Array.from({ length: last - first.minute + 1 }, (_, index) => {
      const minute = first.minute + index;
      const { tokens = 0, refusals = 0, durations } = kept.find((one) => one.minute === minute) ?? {};
      const quantile = (share: number) => (durations === undefined ? null : quantileOf(durations, share * tokens));
      return { at: minute * 60, tokens, refusals, p50: quantile(0.5), p99: quantile(0.99) };
    });
  }

  #now(): Counted {
    const minute = Math.floor(this.#clock.now() / 60);
    const last = this.#minutes.at(-1);
    if (last?.minute === minute) return last;
    const counted = { minute, tokens: 0, refusals: 0, durations: new Uint32Array(BOUNDS) };
    // The clock may have been set back.
    const kept = this.#minutes.filter((one) => one.minute > minute - MINUTES_MAX && one.minute < minute);
    this.#minutes = [...kept, counted];
    return counted;
  }
}

/** The bound that so many durations are not above; null without any. */
function quantileOf(durations: Uint32Array, rank: number): number | null {
  let below = 0;
  const index = durations.findIndex((count) => {
    below += count;
    return below > 0 && below >= rank;
  });
  return index === -1 ? null : FIRST_BOUND_MS * FACTOR ** index;
}
