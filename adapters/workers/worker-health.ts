import { type CheckState, type HealthCheck, severityOf, statesOf } from '../../application/ports/health-check.ts';

const LOOK_EVERY_MS = 250;

/** Reports the state of a worker's dependencies, now and whenever it changes. */
export function reportHealth(checks: readonly HealthCheck[], report: (states: readonly CheckState[]) => void): void {
  let reported = '';
  const look = () => {
    const states = statesOf(checks);
    if (JSON.stringify(states) === reported) return;
    reported = JSON.stringify(states);
    report(states);
  };
  look();
  setInterval(look, LOOK_EVERY_MS).unref();
}

/** One check for each dependency of the workers, with the worst state that a worker reported. */
export function worstHealth(reports: readonly (readonly CheckState[])[]): readonly HealthCheck[] {
  const worst = new Map<string, CheckState>();
  for (const state of reports.flat()) {
    const known = worst.get(state.name);
    if (known === undefined || severityOf(state) > severityOf(known)) worst.set(state.name, state);
  }
  return [...worst.values()].map((state) => ({ name: state.name, readiness: () => state }));
}
