import { Gauge, Registry } from 'prom-client';
import type { MetricsSnapshot } from './metrics-snapshot.ts';

/** The service as a whole, at one moment. */
export interface ServiceState {
  /** As /readyz says. */
  readonly ready: boolean;
  /** Processes that shall answer requests, and those that do. */
  readonly workers: number;
  readonly listening: number;
  /** Secret checks that run, and that wait in the line and in the crowd. */
  readonly checks: { readonly running: number; readonly line: number; readonly crowd: number };
}

/** What is said of the service as a whole, by the one process that knows. */
export class ServiceGauges {
  readonly #registry = new Registry();
  readonly #look: () => ServiceState;
  readonly #ready = this.#gauge('auth_ready', '1 where /readyz answers 200, else 0.');
  readonly #workers = this.#gauge('auth_workers', 'Processes that shall answer requests.');
  readonly #listening = this.#gauge('auth_workers_listening', 'Processes that answer requests.');
  readonly #running = this.#gauge('auth_secret_checks_running', 'BCrypt checks that run now.');
  readonly #waiting = this.#gauge(
    'auth_secret_checks_waiting',
    'BCrypt checks that wait: in the line, or in the crowd that comes when the line is full.',
    'place',
  );

  constructor(look: () => ServiceState) {
    this.#look = look;
  }

  snapshot(): Promise<MetricsSnapshot> {
    const { ready, workers, listening, checks } = this.#look();
    this.#ready.set(ready ? 1 : 0);
    this.#workers.set(workers);
    this.#listening.set(listening);
    this.#running.set(checks.running);
    this.#waiting.set({ place: 'line' }, checks.line);
    this.#waiting.set({ place: 'crowd' }, checks.crowd);
    return this.#registry.getMetricsAsJSON();
  }

  #gauge(name: string, help: string, ...labelNames: readonly string[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
