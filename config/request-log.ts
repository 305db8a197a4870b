import type { Logger } from 'pino';
import type { RequestLog } from '../adapters/http/request-log.ts';

/** The edge's one line a request, in the process's log: an error where the fault is ours, information otherwise. */
export function createRequestLog(log: Logger): RequestLog {
  return (line) => (line.status >= 500 ? log.error(line) : log.info(line));
}
