import { Gauge, Registry } from '@prometheus-io/client';
import type { MetricsSnapshot } from './metrics-snapshot.ts';

/** The service as a whole, at one moment. */
export interface ServiceState {
  /** As `/readyz` answers. */
  readonly ready: boolean;
  /** The number of processes that should answer requests, and of those that do. */
  readonly workers: number;
  readonly listening: number;
  /** The number of secret verifications that run, and that wait in the FIFO queue and in the overflow queue. */
  readonly verifications: { readonly running: number; readonly fifo: number; readonly overflow: number };
}

/** The metrics of the service as a whole. They belong to the process that has the verification queue. */
export class ServiceGauges {
  readonly #registry = new Registry();
  readonly #read: () => ServiceState;
  readonly #ready = this.#gauge('auth_ready', '1 where /readyz answers 200, else 0.');
  readonly #workers = this.#gauge('auth_workers', 'Processes that should answer requests.');
  readonly #listening = this.#gauge('auth_workers_listening', 'Processes that answer requests.');
  readonly #running = this.#gauge('auth_secret_verifications_running', 'BCrypt verifications that run now.');
  readonly #waiting = this.#gauge(
    'auth_secret_verifications_waiting',
    'BCrypt verifications that wait: in the FIFO queue, or in the overflow queue that is used when the FIFO queue is full.',
    'queue',
  );

  constructor(read: () => ServiceState) {
    this.#read = read;
  }

  snapshot(): Promise<MetricsSnapshot> {
    const { ready, workers, listening, verifications } = this.#read();
    this.#ready.set(ready ? 1 : 0);
    this.#workers.set(workers);
    this.#listening.set(listening);
    this.#running.set(verifications.running);
    this.#waiting.set({ queue: 'fifo' }, verifications.fifo);
    this.#waiting.set({ queue: 'overflow' }, verifications.overflow);
    return this.#registry.getMetricsAsJSON();
  }

  #gauge(name: string, help: string, ...labelNames: readonly string[]): Gauge<string> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
