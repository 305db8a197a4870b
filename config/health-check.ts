import { request } from 'node:http';
import { readSettings } from './settings/settings.ts';

/** Milliseconds that the service has to answer. */
const WITHIN_MS = 2_000;

// Asks the management port of a service with the same environment for the path given as argument, such as /livez, and
// ends with exit code 0 where the answer is 200. For containers, which have no curl.
const settings = readSettings(process.env);
const path = process.argv[2];
process.exitCode = 1;

if (!settings.ok) {
  process.stderr.write(`${settings.problem.join('\n')}\n`);
} else if (path === undefined) {
  process.stderr.write('usage: health-check /livez|/readyz\n');
} else {
  const { MANAGEMENT_HOST: host, MANAGEMENT_PORT: port } = settings.value;
  const probe = request({ host, port, path, timeout: WITHIN_MS }, (answer) => {
    if (answer.statusCode === 200) process.exitCode = 0;
    answer.pipe(process.stdout);
  });
  probe.on('timeout', () => probe.destroy(new Error('no answer in time')));
  probe.on('error', (error) => process.stderr.write(`${error.message}\n`));
  probe.end();
}
