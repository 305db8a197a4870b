import { type Finding, problem } from '../../../application/ports/inspection.ts';
import { problemOfFault } from '../fault-problem.ts';

/** Why the database of this URL cannot be reached. Names host and port; never the password. */
export function connectionProblem(fault: unknown, url: string): Finding {
  const { text, fix } = problemOfFault(fault);
  return problem(`${placeOf(url)}: ${text}`, fix);
}

/** Host and port of a URL; they may also be in its query. */
export function placeOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  if (host.startsWith('/')) return host;
  return `${host || 'localhost'}:${searchParams.get('port') ?? (port || '5432')}`;
}
