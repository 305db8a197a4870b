import { request } from 'node:http';

/** Milliseconds that the service has to answer. */
const WITHIN_MS = 2_000;

/** Where a port that listens on all addresses of this machine is reached. */
export const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Requests a path such as /livez of a management port, prints the answer, and sets exit code 0 if its status is 200, otherwise 1. */
export function probeHealth(host: string, port: number, path: string): void {
  process.exitCode = 1;
  const probe = request({ host: LOOPBACK[host] ?? host, port, path, timeout: WITHIN_MS }, (answer) => {
    if (answer.statusCode === 200) process.exitCode = 0;
    answer.pipe(process.stdout);
  });
  probe.on('timeout', () => probe.destroy(new Error('no answer in time')));
  probe.on('error', (error) => process.stderr.write(`${error.message}\n`));
  probe.end();
}
