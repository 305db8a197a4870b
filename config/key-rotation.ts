import type { Logger } from 'pino';
import type { KeyRing } from '../application/keys/key-ring.ts';
import type { Dependency, HealthCheck } from '../application/ports/health-check.ts';

/** How often replicas look at the directory while a key is on its way to be known: word gets around in a quarter of that time. */
const LOOKS_A_PUBLICATION = 4;
/** The longest between two looks, so that the word of this replica never grows old; and while something fails. */
const LOOK_EVERY_MS = 15_000;
const RETRY_EVERY_MS = 1_000;

/** Lets time pass for the key ring, in the background. */
export class KeyRotation implements Dependency {
  readonly name = 'signing key';
  readonly #ring: KeyRing;
  readonly #everyMs: number;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #failed = false;

  private constructor(ring: KeyRing, everyMs: number, log: Logger) {
    this.#ring = ring;
    this.#everyMs = everyMs;
    this.#log = log;
  }

  /** Resolves when the first key was made, whether or not it could be published yet. */
  static async start(ring: KeyRing, publicationSeconds: number, log: Logger): Promise<KeyRotation> {
    const everyMs = Math.min(LOOK_EVERY_MS, (publicationSeconds * 1000) / LOOKS_A_PUBLICATION);
    const rotation = new KeyRotation(ring, everyMs, log);
    await rotation.#advance();
    return rotation;
  }

  readiness(): ReturnType<HealthCheck['readiness']> {
    const reason = this.#ring.whyNotSigning();
    return reason === undefined ? { ready: true } : { ready: false, reason };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #advance(): Promise<void> {
    const begin = performance.now();
    await this.#ring.advance().then(
      () => this.#succeeded(),
      (fault) => this.#fell(fault),
    );
    if (this.#closed) return;
    const everyMs = this.#failed ? Math.min(RETRY_EVERY_MS, this.#everyMs) : this.#everyMs;
    this.#timer = setTimeout(() => void this.#advance(), everyMs - (performance.now() - begin));
  }

  // They log the change of state, not each time.

  #succeeded(): void {
    if (this.#failed && !this.#closed) this.#log.info({ event: 'key_directory_available' });
    this.#failed = false;
  }

  #fell(fault: unknown): void {
    if (!this.#failed && !this.#closed) this.#log.error({ event: 'key_directory_unavailable', fault });
    this.#failed = true;
  }
}
