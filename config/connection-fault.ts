import type { Logger } from 'pino';

/** A caller who breaks off is no fault of ours, and no news: its code is enough. */
export function logConnectionFault(log: Logger, fault: unknown): void {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
  if (code === 'ECONNRESET' || code === 'EPIPE') log.info({ event: 'connection_lost', code });
  else log.warn({ event: 'connection_failed', fault });
}
