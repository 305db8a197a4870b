import { createStateLog } from '../../adapters/log/state-log.ts';
import { success } from '../../domain/result.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { settingsGroup } from '../settings/read-environment.ts';
import { ignoredVariables, readTracingSettings } from './tracing/tracing-settings.ts';

/** Spans of each request for a collector of OpenTelemetry. */
export const tracing = define({
  name: 'tracing',
  settings: settingsGroup({ rows: {}, ignored: ignoredVariables }),
  read: ({ environment }) => success(readTracingSettings(environment)),
  async register(parts, _service, options) {
    if (options === undefined) return;
    // OpenTelemetry is loaded only where it is used.
    const { connectTracing } = await import('../../adapters/tracing/connect-tracing.ts');
    let log: ReturnType<typeof createStateLog> | undefined;
    const { requests, ports } = connectTracing(options, (change) => log?.(change));
    part(parts, PARTS.observedPorts, () => ports);
    part(parts, PARTS.logMembers, () => requests.logMembers);
    part(parts, PARTS.aroundRequests, () => requests.around);
    parts.register(LISTS.requestCounters, { useValue: { count: (line) => requests.describe(line) } });
    parts.register(LISTS.dependencies, { useValue: requests });
    part(parts, LISTS.measurements, (get) => {
      log = createStateLog(get(PARTS.log));
      return (values) => {
        const { waiting, waitingMax, lost } = requests.queue;
        values.gauge('auth_trace_spans_waiting', 'Spans of traces that wait to be sent.', waiting, waitingMax);
        const help =
          'Spans of traces that were lost because too many waited, or because the collector did not accept them.';
        values.total('auth_trace_spans_lost_total', help, lost);
      };
    });
  },
  inspect(_configuration, options) {
    if (options === undefined) return [];
    return [
      {
        name: 'tracing',
        inspect: async () =>
          (await import('../../adapters/tracing/inspect-collector.ts')).inspectCollector(options.exporter),
      },
    ];
  },
});
