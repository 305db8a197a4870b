import { Counter, Gauge, type Registry } from '@prometheus-io/client';

/** What the public port of one process holds at one moment, and what it has refused to hold. */
export interface MeasuredHttpLoad {
  readonly connections: number;
  readonly dropped: number;
  readonly inProgress: number;
  readonly delayed: number;
  readonly pipelined: number;
  readonly pipelinedBytes: number;
}

/** Registers the metrics of a public port. They are read when they are scraped, and cost a request nothing. */
export function registerHttpMetrics(registry: Registry, process: string, read: () => MeasuredHttpLoad): void {
  const gauge = (name: string, help: string, value: (load: MeasuredHttpLoad) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['process'],
      registers: [registry],
      collect() {
        this.set({ process }, value(read()));
      },
    });

  gauge('auth_http_connections', 'Open connections to the public port.', ({ connections }) => connections);
  gauge('auth_http_requests_in_progress', 'Requests that are being answered.', ({ inProgress }) => inProgress);
  gauge('auth_http_rejections_delayed', 'Requests whose refusal is delayed.', ({ delayed }) => delayed);
  gauge(
    'auth_http_pipelined_requests_waiting',
    'Requests that wait for the one before them on their connection.',
    ({ pipelined }) => pipelined,
  );
  gauge(
    'auth_http_pipelined_requests_waiting_bytes',
    'Estimated bytes of the requests that wait for the one before them.',
    ({ pipelinedBytes }) => pipelinedBytes,
  );
  // Without a label of the process: a total, which outlives its worker.
  new Counter({
    name: 'auth_http_connections_dropped_total',
    help: 'Connections that were closed because there were too many.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read().dropped);
    },
  });
}
