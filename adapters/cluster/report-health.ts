import type { Dependency } from '../../config/dependency.ts';
import type { SentHealth } from './protocol.ts';

const LOOK_EVERY_MS = 250;

/** Tells the state of what this process depends on, now and whenever it changes. */
export function reportHealth(
  dependencies: readonly Dependency[],
  report: (states: readonly SentHealth[]) => void,
): void {
  let reported = '';
  const look = () => {
    const states = dependencies.map((dependency) => ({ name: dependency.name, ...dependency.readiness() }));
    if (JSON.stringify(states) === reported) return;
    reported = JSON.stringify(states);
    report(states);
  };
  look();
  setInterval(look, LOOK_EVERY_MS).unref();
}
