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
export function serviceMetrics(state: ServiceState): Promise<MetricsSnapshot> {
  const registry = new Registry();
  const gauge = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Gauge<string>({ name, help, labelNames, registers: [registry] });

  gauge('auth_ready', '1 where /readyz answers 200, else 0.').set(state.ready ? 1 : 0);
  gauge('auth_workers', 'Processes that should answer requests.').set(state.workers);
  gauge('auth_workers_listening', 'Processes that answer requests.').set(state.listening);
  const { running, fifo, overflow } = state.verifications;
  gauge('auth_secret_verifications_running', 'BCrypt verifications that run now.').set(running);
  const waiting = gauge(
    'auth_secret_verifications_waiting',
    'BCrypt verifications that wait: in the FIFO queue, or in the overflow queue that is used when the FIFO queue is full.',
    'queue',
  );
  waiting.set({ queue: 'fifo' }, fifo);
  waiting.set({ queue: 'overflow' }, overflow);
  return registry.getMetricsAsJSON();
}
