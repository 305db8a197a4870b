import type { Measure } from '../../adapters/prom-client/metric-values.ts';
import { availableCores, memoryLimit } from '../../adapters/system/host-limits.ts';
import { type HealthCheck, severityOf } from '../../application/ports/health-check.ts';

/** Measures whether the service is ready, and what its host gives it. */
export function measureHealth(checks: () => readonly HealthCheck[]): Measure {
  return (values) => {
    const states = checks().map((check) => [check.name, check.readiness()] as const);
    const isReady = states.every(([, { ready }]) => ready);
    values.gauge('auth_ready', isReady ? 1 : 0);
    const severities = states.map(([name, readiness]) => [name, severityOf(readiness)]);
    values.gauges('check', 'auth_check_severity', Object.fromEntries(severities));
    values.gauge('auth_host_cores', availableCores());
    values.gauge('auth_host_memory_bytes', memoryLimit());
  };
}
