import type { KeyRing } from '../../application/keys/key-ring.ts';
import { PeriodicTask } from '../../application/periodic-task.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import { CLOCK_OFFSET_SECONDS_MAX, CLOCK_OFFSET_SECONDS_NOTED } from '../../domain/clock-offset.ts';

/** A change of state of the key ring or of the clock, for the log of the process; not every attempt. */
export type KeyDirectoryEvent =
  | { readonly event: 'key_directory_unavailable'; readonly fault: unknown }
  | { readonly event: 'key_directory_available' }
  | { readonly event: 'key_locked' | 'key_damaged'; readonly key_id: string; readonly reason: string }
  | { readonly event: `clock_${ClockState}`; readonly offset_seconds: number };

/** Whether the clock is right, off by more than replicas allow, or so far off that the service may not sign. */
type ClockState = 'right' | 'off' | 'wrong';

interface KeyRotationTimerOptions {
  /** How long a key is published before it signs. All replicas read the ring at least four times in it. */
  readonly publicationSeconds: number;
  /** Must not throw. */
  readonly log: (event: KeyDirectoryEvent) => void;
}

const READS_PER_PUBLICATION = 4;
/**
 * The longest between two readings: with the deadline of a query, a revoked key is dropped within 10 s. And between two
 * attempts while no key may sign.
 */
const INTERVAL_MS_MAX = 5_000;
const RETRY_MS_MAX = 1_000;

/** Advances the key ring in the background, and reports to readiness checks whether a key may sign. */
export class KeyRotationTimer implements HealthCheck {
  readonly name = 'signing key';
  /** Whether tokens can be verified, also while no key may sign. */
  readonly verification: HealthCheck = {
    name: 'verification keys',
    readiness: () => {
      const reason = this.#ring.whyNotVerifying();
      return reason === undefined ? { ready: true } : { ready: false, reason };
    },
  };
  readonly #ring: KeyRing;
  readonly #intervalMs: number;
  readonly #log: KeyRotationTimerOptions['log'];
  readonly #advancing = new PeriodicTask(() => this.#advance());
  readonly #unusable = new Set<string>();
  #failed = false;
  #clock: ClockState = 'right';

  constructor(ring: KeyRing, { publicationSeconds, log }: KeyRotationTimerOptions) {
    this.#ring = ring;
    this.#intervalMs = Math.min(INTERVAL_MS_MAX, (publicationSeconds * 1000) / READS_PER_PUBLICATION);
    this.#log = log;
  }

  /** Resolves after the first attempt, mostly with a key that may sign. */
  start(): Promise<void> {
    return this.#advancing.start();
  }

  readiness(): Readiness {
    const offset = this.#ring.clockOffsetSeconds() ?? 0;
    const isOff = Math.abs(offset) > CLOCK_OFFSET_SECONDS_NOTED;
    const side = offset > 0 ? 'ahead of' : 'behind';
    const clock = `the clock is ${Math.abs(offset).toFixed(1)} s ${side} that of the key directory`;
    const reason = this.#ring.whyNotSigning();
    if (reason !== undefined) {
      return { ready: false, reason: isOff ? { ...reason, text: `${reason.text} (${clock})` } : reason };
    }
    const fix = 'correct the clock of this machine or of the database (NTP)';
    const note = isOff ? { code: 'clock_off', text: clock, fix } : this.#ring.note();
    return note === undefined ? { ready: true } : { ready: true, note };
  }

  async close(): Promise<void> {
    this.#advancing.close();
  }

  /** Resolves with the milliseconds until the next time. */
  async #advance(): Promise<number | undefined> {
    const begin = performance.now();
    const event = await this.#ring.advance().then(
      (): KeyDirectoryEvent => ({ event: 'key_directory_available' }),
      (fault): KeyDirectoryEvent => ({ event: 'key_directory_unavailable', fault }),
    );
    if (this.#advancing.isClosed) return undefined;
    const failed = event.event === 'key_directory_unavailable';
    if (failed !== this.#failed) this.#log(event);
    this.#failed = failed;
    this.#reportUnusable();
    this.#compareClocks();
    const isUrgent = this.#failed || this.#ring.whyNotSigning() !== undefined;
    if (!failed && this.#ring.isDue()) return 0;
    const intervalMs = isUrgent ? Math.min(RETRY_MS_MAX, this.#intervalMs) : this.#intervalMs;
    // A query may take longer than the interval, and a process may have been stopped for hours.
    return Math.max(0, intervalMs - (performance.now() - begin));
  }

  #reportUnusable(): void {
    const unusable = this.#ring.unusable();
    for (const { kid, state, reason } of unusable) {
      if (!this.#unusable.has(kid)) this.#log({ event: `key_${state}`, key_id: kid, reason });
    }
    this.#unusable.clear();
    for (const { kid } of unusable) this.#unusable.add(kid);
  }

  #compareClocks(): void {
    const offset = this.#ring.clockOffsetSeconds() ?? 0;
    const distance = Math.abs(offset);
    // A clock that is close to a limit causes one line, and not one each time.
    const noted = CLOCK_OFFSET_SECONDS_NOTED / (this.#clock === 'right' ? 1 : 2);
    const state = distance > CLOCK_OFFSET_SECONDS_MAX ? 'wrong' : distance > noted ? 'off' : 'right';
    if (state === this.#clock) return;
    this.#clock = state;
    this.#log({ event: `clock_${state}`, offset_seconds: Math.round(offset * 10) / 10 });
  }
}
