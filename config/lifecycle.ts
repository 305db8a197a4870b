import type { HealthCheck } from '../adapters/http/health-endpoints.ts';

/** Whether the service wants requests: from its start until it is told to stop. One of the checks of /readyz. */
export class Lifecycle implements HealthCheck {
  readonly name = 'service';
  #stopping = false;

  stop(): void {
    this.#stopping = true;
  }

  readiness(): ReturnType<HealthCheck['readiness']> {
    return this.#stopping ? { ready: false, reason: 'stopping' } : { ready: true };
  }
}
