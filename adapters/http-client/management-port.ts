import type { CheckState } from '../../application/ports/health-check.ts';
import { LOOPBACK } from './health-probe.ts';
import { readJson } from './read-json.ts';

/** Milliseconds that the service has to answer. */
const WITHIN_MS = 2_000;

/** The checks of the service whose management port is here; undefined if none answers. */
export async function askRunningService(host: string, port: number): Promise<readonly CheckState[] | undefined> {
  if (port === 0) return undefined;
  const address = LOOPBACK[host] ?? host;
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}/readyz`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(WITHIN_MS) });
    const checks: unknown = Reflect.get((await readJson(response)) as object, 'checks');
    return Array.isArray(checks) && checks.every(isCheck) ? checks : undefined;
  } catch {
    return undefined;
  }
}

function isCheck(value: unknown): value is CheckState {
  const { name, ready } = (value ?? {}) as Partial<CheckState>;
  return typeof name === 'string' && typeof ready === 'boolean';
}
