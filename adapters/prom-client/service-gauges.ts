import { Gauge, Registry } from 'prom-client';
import type { MetricsSnapshot } from './metrics-snapshot.ts';

/** The service as a whole, at one moment. */
export interface ServiceState {
  /** As /readyz says. */
  readonly ready: boolean;
  /** Processes that shall answer requests, and those that do. */
  readonly workers: number;
  readonly listening: number;
  /** Secret verifications that run, and that wait in the FIFO queue and in the overflow queue. */
  readonly verifications: { readonly running: number; readonly fifo: number; readonly overflow: number };
}

/** What is said of the service as a whole, by the one process that knows. */
export class ServiceGauges {
  readonly #registry = new Registry();
  readonly #look: () => ServiceState;
  readonly #ready = this.#gauge('auth_ready', '1 where /readyz answers 200, else 0.');
  readonly #workers = this.#gauge('auth_workers', 'Processes that shall answer requests.');
  readonly #listening = this.#gauge('auth_workers_listening', 'Processes that answer requests.');
  readonly #running = this.#gauge('auth_secret_verifications_running', 'Secret verifications that run now.');
  readonly #waiting = this.#gauge(
    'auth_secret_verifications_waiting',
    'Secret verifications that wait, in the FIFO queue or, when that is full, in the overflow queue.',
    'queue',
  );

  constructor(look: () => ServiceState) {
    this.#look = look;
  }

  snapshot(): Promise<MetricsSnapshot> {
    const { ready, workers, listening, verifications } = this.#look();
    this.#ready.set(ready ? 1 : 0);
    this.#workers.set(workers);
    this.#listening.set(listening);
    this.#running.set(verifications.running);
    this.#waiting.set({ queue: 'fifo' }, verifications.fifo);
    this.#waiting.set({ queue: 'overflow' }, verifications.overflow);
    return this.#registry.getMetricsAsJSON();
  }

  #gauge(name: string, help: string, ...labelNames: readonly string[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
