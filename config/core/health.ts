import type { Measure } from '../../adapters/prom-client/metric-values.ts';
import { availableCores, memoryLimit } from '../../adapters/system/host-limits.ts';
import { type HealthCheck, severityOf } from '../../application/ports/health-check.ts';

/** Measures whether the service is ready, and what its host gives it. */
export function measureHealth(checks: () => readonly HealthCheck[]): Measure {
  return (values) => {
    const states = checks().map((check) => [check.name, check.readiness()] as const);
    const isReady = states.every(([, { ready }]) => ready);
    values.gauge('auth_ready', '1 where /readyz answers 200, else 0.', isReady ? 1 : 0);
    const severities = states.map(([name, readiness]) => [name, severityOf(readiness)]);
    const severityHelp = 'Checks of /readyz: 0 ready, 1 ready with a note, 2 not ready.';
    values.gauges('check', 'auth_check_severity', severityHelp, Object.fromEntries(severities));
    values.gauge('auth_host_cores', 'Cores that the service can use.', availableCores());
    const memoryHelp = 'Bytes of memory that the container may use, or that the machine has.';
    values.gauge('auth_host_memory_bytes', memoryHelp, memoryLimit());
  };
}
