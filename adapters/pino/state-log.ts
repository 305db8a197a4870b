import type { Logger } from 'pino';

/** Writes the changes of state of a dependency to the log of the process: an error if there is a fault, else information. */
export function createStateLog(log: Logger): (change: { readonly event: string; readonly fault?: unknown }) => void {
  return (change) => ('fault' in change ? log.error(change) : log.info(change));
}
