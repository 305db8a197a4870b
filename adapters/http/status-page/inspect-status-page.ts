import { type Finding, fine, note } from '../../../application/ports/inspection.ts';
import { STATUS_PAGE_PATH } from './status-page-routes.ts';

interface StatusPageSettings {
  /** Where the management port listens; port 0 is any free one. */
  readonly host: string;
  readonly port: number;
  /** Whether `MANAGEMENT_TOKEN` is set. */
  readonly hasToken: boolean;
}

/** Whether there is a status page, and where. */
export function inspectStatusPage({ host, port, hasToken }: StatusPageSettings): readonly Finding[] {
  if (!hasToken) return [fine('there is no status page: MANAGEMENT_TOKEN switches it on')];
  if (port === 0) return [fine('the status page is on; the service logs its port, since MANAGEMENT_PORT is 0')];
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${STATUS_PAGE_PATH}`;
  const text = `the status page is at ${url}, and asks for MANAGEMENT_TOKEN`;
  if (/^(localhost|127\.|::1$)/.test(host)) return [fine(text)];
  const cure = 'let only operators reach MANAGEMENT_PORT, through a tunnel (docs/monitoring.md)';
  return [note(`${text}, which travels unencrypted`, cure)];
}
