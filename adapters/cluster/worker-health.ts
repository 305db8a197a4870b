import type { HealthCheck } from '../../application/ports/health-check.ts';
import type { SentHealth } from './protocol.ts';

/** One check for each dependency of the workers: as it is for the one that it is worst for. */
export function workerHealth(reports: readonly (readonly SentHealth[])[]): readonly HealthCheck[] {
  const worst = new Map<string, SentHealth>();
  for (const state of reports.flat()) {
    const known = worst.get(state.name);
    if (known === undefined || badness(state) > badness(known)) worst.set(state.name, state);
  }
  return [...worst.values()].map((state) => ({ name: state.name, readiness: () => readinessOf(state) }));
}

function badness({ ready, note }: SentHealth): number {
  if (!ready) return 2;
  return note === undefined ? 0 : 1;
}

function readinessOf({ ready, reason = 'unknown', note }: SentHealth): ReturnType<HealthCheck['readiness']> {
  if (!ready) return { ready, reason };
  return note === undefined ? { ready } : { ready, note };
}
