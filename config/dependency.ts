import type { HealthCheck } from '../application/ports/health-check.ts';

/** Something outside of this process that was opened for the service: it can be asked how it is, and is closed at the end. */
export interface Dependency extends HealthCheck {
  close(): Promise<void>;
}
