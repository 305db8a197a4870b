import type { Logger } from 'pino';
import type { KeySetLog } from '../../adapters/jwks-client/key-set-log.ts';

/** The changes of state of the issuer's key set, in the process's log. */
export function createKeySetLog(log: Logger): KeySetLog {
  return (line) => (line.event === 'key_set_available' ? log.info(line) : log.error(line));
}
