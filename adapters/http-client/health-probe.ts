import { request } from 'node:http';

/** Milliseconds that the service has to answer. */
const WITHIN_MS = 2_000;

/** Where a port that listens on all addresses of this machine is reached. */
export const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Requests a path such as /livez of a management port, prints the answer, and resolves with whether its status is 200. */
export function probeHealth(host: string, port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request({ host: LOOPBACK[host] ?? host, port, path, timeout: WITHIN_MS }, (answer) => {
      answer.pipe(process.stdout);
      answer.on('close', () => resolve(answer.statusCode === 200));
    });
    probe.on('timeout', () => probe.destroy(new Error('no answer in time')));
    probe.on('error', (error) => {
      process.stderr.write(`${error.message}\n`);
      resolve(false);
    });
    probe.end();
  });
}
