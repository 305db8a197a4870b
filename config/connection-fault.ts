import type { Logger } from 'pino';

/** Logs an error of a connection. A client that disconnects is no fault of the service: its error code is enough. */
export function logConnectionFault(log: Logger, fault: unknown): void {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
  if (code === 'ECONNRESET' || code === 'EPIPE') log.info({ event: 'connection_lost', code });
  else log.warn({ event: 'connection_failed', fault });
}
