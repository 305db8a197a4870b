import type { HealthCheck } from '../application/ports/health-check.ts';

/** Whether the service wants requests: from when it listens until it is told to stop. One of the checks of /readyz. */
export class Lifecycle implements HealthCheck {
  readonly name = 'service';
  #reason: string | undefined = 'starting';

  start(): void {
    this.#reason = undefined;
  }

  stop(): void {
    this.#reason = 'stopping';
  }

  readiness(): ReturnType<HealthCheck['readiness']> {
    return this.#reason === undefined ? { ready: true } : { ready: false, reason: this.#reason };
  }
}
