import type { Logger } from 'pino';
import type { RequestLog } from '../adapters/http/server/request-log.ts';

/**
 * The edge's one line a request, in the process's log: an error where the fault is ours, information otherwise.
 * @param count told of each request too.
 */
export function createRequestLog(log: Logger, count: RequestLog = () => {}): RequestLog {
  return (line) => {
    count(line);
    if (line.status >= 500) log.error(line);
    else log.info(line);
  };
}
