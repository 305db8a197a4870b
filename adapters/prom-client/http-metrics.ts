import type { Registry } from '@prometheus-io/client';
import { addGauge, addTotal } from './measured-value.ts';

/** What the public port of one process holds at one moment, the most that it can hold, and what it has refused to hold. */
export interface MeasuredHttpLoad {
  readonly connections: number;
  readonly connectionsMax: number;
  readonly dropped: number;
  readonly inProgress: number;
  readonly inProgressMax: number;
  readonly delayed: number;
  readonly delayedMax: number;
  readonly pipelined: number;
  readonly pipelinedBytes: number;
  readonly pipelinedBytesMax: number;
}

type Member = keyof MeasuredHttpLoad;

/** Registers the metrics of a public port. They are read when they are scraped, and cost a request nothing. */
export function registerHttpMetrics(registry: Registry, process: string, read: () => MeasuredHttpLoad): void {
  const gauge = (name: string, help: string, member: Member, bound?: Member) =>
    addGauge(registry, process, {
      name: `auth_http_${name}`,
      help,
      read: () => read()[member],
      max: bound && (() => read()[bound]),
    });

  gauge('connections', 'Open connections to the public port.', 'connections', 'connectionsMax');
  gauge('requests_in_progress', 'Requests that are being answered.', 'inProgress', 'inProgressMax');
  gauge('rejections_delayed', 'Requests whose refusal is delayed.', 'delayed', 'delayedMax');
  gauge('pipelined_requests_waiting', 'Requests that wait for the one before them on their connection.', 'pipelined');
  gauge(
    'pipelined_requests_waiting_bytes',
    'Estimated bytes of the requests that wait for the one before them.',
    'pipelinedBytes',
    'pipelinedBytesMax',
  );
  addTotal(
    registry,
    'auth_http_connections_dropped_total',
    'Connections that were closed because there were too many.',
    () => read().dropped,
  );
}
