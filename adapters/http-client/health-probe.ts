import { request } from 'node:http';
import { request as requestWithTls } from 'node:https';
import { isIPv4 } from 'node:net';

/** Milliseconds that the service has to answer. */
const WITHIN_MS = 2_000;

/** Where a port that listens on all addresses of this machine is reached. */
export const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Whether a host, as `URL.hostname` has it, is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}

interface HealthPort {
  readonly host: string;
  readonly port: number;
  /** Its certificate is for another name than that of this machine, so that it is not checked. */
  readonly hasTls: boolean;
}

/** Requests a path such as /livez of a port, prints the response, and resolves with whether its status is 200. */
export function probeHealth({ host, port, hasTls }: HealthPort, path: string): Promise<boolean> {
  const options = { host: LOOPBACK[host] ?? host, port, path, timeout: WITHIN_MS };
  return new Promise((resolve) => {
    const probe = hasTls ? requestWithTls({ ...options, rejectUnauthorized: false }) : request(options);
    probe.on('response', (response) => {
      response.pipe(process.stdout);
      response.on('close', () => resolve(response.statusCode === 200));
    });
    probe.on('timeout', () => probe.destroy(new Error('no response in time')));
    probe.on('error', (error) => {
      process.stderr.write(`${error.message}\n`);
      resolve(false);
    });
    probe.end();
  });
}
