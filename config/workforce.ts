import type { Server } from 'node:http';
import type { MetricsSnapshot } from '../adapters/prom-client/metrics-snapshot.ts';

/** The processes that answer requests. */
export interface Workforce {
  /** How many there shall be. */
  readonly size: number;
  /** How many do. */
  readonly listening: number;
  /** What those that are not this process measured. */
  metrics(): Promise<readonly MetricsSnapshot[]>;
}

/** This process alone. */
export function soleWorkforce(server: () => Server): Workforce {
  return {
    size: 1,
    get listening() {
      return server().listening ? 1 : 0;
    },
    metrics: async () => [],
  };
}
