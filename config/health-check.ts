import { probeHealth } from '../adapters/http-client/health-probe.ts';
import { readSettings } from './settings/settings.ts';

// Probes the management port of a service with the same environment. For containers, which have no curl.
const settings = readSettings(process.env);
const path = process.argv[2];

if (settings.ok && path !== undefined) {
  probeHealth(settings.value.MANAGEMENT_HOST, settings.value.MANAGEMENT_PORT, path);
} else {
  process.stderr.write(settings.ok ? 'usage: health-check /livez|/readyz\n' : `${settings.problem.join('\n')}\n`);
  process.exitCode = 1;
}
