import type { KeyRing } from '../../application/keys/key-ring.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';

/** A change of state of the key directory, for the log of the process; not every failed attempt. */
export type KeyDirectoryEvent =
  | { readonly event: 'key_directory_unavailable'; readonly fault: unknown }
  | { readonly event: 'key_directory_available' };

export interface KeyRotationTimerOptions {
  /** How long a key is published before it signs. All replicas read the directory at least four times in it. */
  readonly publicationSeconds: number;
  /** Must not throw. */
  readonly log: (event: KeyDirectoryEvent) => void;
}

const READS_PER_PUBLICATION = 4;
/** The longest between two publications, far below the lease of a key, and between two attempts after a failure. */
const INTERVAL_MS_MAX = 15_000;
const RETRY_MS_MAX = 1_000;

/** Advances the key ring in the background, and reports to readiness checks whether a key may sign. */
export class KeyRotationTimer implements HealthCheck {
  readonly name = 'signing key';
  readonly #ring: KeyRing;
  readonly #intervalMs: number;
  readonly #log: KeyRotationTimerOptions['log'];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #failed = false;

  constructor(ring: KeyRing, { publicationSeconds, log }: KeyRotationTimerOptions) {
    this.#ring = ring;
    this.#intervalMs = Math.min(INTERVAL_MS_MAX, (publicationSeconds * 1000) / READS_PER_PUBLICATION);
    this.#log = log;
  }

  /** Resolves after the first attempt to make and publish a key, whether or not the directory was available. */
  async start(): Promise<void> {
    await this.#advance();
  }

  readiness(): Readiness {
    const reason = this.#ring.whyNotSigning();
    return reason === undefined ? { ready: true } : { ready: false, reason };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #advance(): Promise<void> {
    const begin = performance.now();
    const event = await this.#ring.advance().then(
      (): KeyDirectoryEvent => ({ event: 'key_directory_available' }),
      (fault): KeyDirectoryEvent => ({ event: 'key_directory_unavailable', fault }),
    );
    if (this.#closed) return;
    const failed = event.event === 'key_directory_unavailable';
    if (failed !== this.#failed) this.#log(event);
    this.#failed = failed;
    const intervalMs = this.#failed ? Math.min(RETRY_MS_MAX, this.#intervalMs) : this.#intervalMs;
    this.#timer = setTimeout(() => void this.#advance(), intervalMs - (performance.now() - begin));
  }
}
