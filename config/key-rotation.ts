import type { Logger } from 'pino';
import type { HealthCheck } from '../adapters/http/health-endpoints.ts';
import type { KeyRing } from '../application/key-ring.ts';
import type { Dependency } from './dependency.ts';

/** How often replicas look at the directory while a key is on its way to be known: word gets around in a quarter of that time. */
const LOOKS_A_PUBLICATION = 4;

/** Lets time pass for the key ring, in the background. */
export class KeyRotation implements Dependency {
  readonly name = 'signing key';
  readonly #ring: KeyRing;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #failed = false;

  private constructor(ring: KeyRing, everyMs: number, log: Logger) {
    this.#ring = ring;
    this.#log = log;
    this.#timer = setInterval(() => void this.#advance(), everyMs);
  }

  /** Resolves when the first key was made, whether or not it could be published yet. */
  static async start(ring: KeyRing, publicationSeconds: number, log: Logger): Promise<KeyRotation> {
    const rotation = new KeyRotation(ring, (publicationSeconds * 1000) / LOOKS_A_PUBLICATION, log);
    await rotation.#advance();
    return rotation;
  }

  readiness(): ReturnType<HealthCheck['readiness']> {
    const reason = this.#ring.whyNotSigning();
    return reason === undefined ? { ready: true } : { ready: false, reason };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** Logs the change of state, not each failure. */
  async #advance(): Promise<void> {
    try {
      await this.#ring.advance();
      if (this.#failed) this.#log.info({ event: 'key_directory_available' });
      this.#failed = false;
    } catch (fault) {
      if (!this.#failed) this.#log.error({ event: 'key_directory_unavailable', fault });
      this.#failed = true;
    }
  }
}
