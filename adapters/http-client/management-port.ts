import type { CheckState } from '../../application/ports/health-check.ts';
import { type Finding, fine, problem } from '../../domain/finding.ts';
import { LOOPBACK } from './health-probe.ts';
import { readJson } from './read-json.ts';

/** Milliseconds that the service has to answer. */
const WITHIN_MS = 2_000;

/** A field of what the management port here answers as JSON; undefined if there is none, or nothing answers. */
export async function askManagementPort(
  { host, port, token }: { readonly host: string; readonly port: number; readonly token?: string | undefined },
  path: string,
  field: string,
): Promise<unknown> {
  if (port === 0) return undefined;
  const address = LOOPBACK[host] ?? host;
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}${path}`;
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
    return Reflect.get((await readJson(response)) as object, field);
  } catch {
    return undefined;
  }
}

/** The checks of the service whose management port is here; undefined if none answers. */
export async function askRunningService(host: string, port: number): Promise<readonly CheckState[] | undefined> {
  const checks = await askManagementPort({ host, port }, '/readyz', 'checks');
  return Array.isArray(checks) && checks.every(isCheck) ? checks : undefined;
}

function isCheck(value: unknown): value is CheckState {
  const { name, ready } = (value ?? {}) as Partial<CheckState>;
  return typeof name === 'string' && typeof ready === 'boolean';
}

/** Whether the key of a token that a resource server refuses is among these. */
export function inspectKey(kid: string, keys: readonly unknown[], where: string): Finding {
  const known = keys.map((key) => (key ?? {}) as { readonly kid?: unknown; readonly state?: unknown });
  const found = known.find((key) => key.kid === kid);
  if (found === undefined) {
    return problem(
      `the key ${kid} is not among ${where}: ${known.map((key) => String(key.kid)).join(', ') || 'none'}`,
      'compare iss of the token with TOKEN_ISSUER; several replicas need KEY_DIRECTORY=database or a common KEY_FILE; a revoked key, or one that ended, is not trusted any more',
    );
  }
  const state = typeof found.state === 'string' ? `, ${found.state}` : '';
  return fine(
    `the key ${kid} is among ${where}${state}: have the resource server fetch its key set again, then compare iss, aud and exp of the token`,
  );
}
