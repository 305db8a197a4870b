import type { Logger } from 'pino';
import type { DatabaseLog } from '../adapters/postgres/health.ts';

/** The database's changes of state, in the process's log: an error where requests are refused for it, a warning where a row has to be mended. */
export function createDatabaseLog(log: Logger): DatabaseLog {
  return (line) => {
    switch (line.event) {
      case 'database_unavailable':
      case 'table_unusable':
        return log.error(line);
      case 'registration_broken':
        return log.warn(line);
      case 'database_available':
      case 'table_created':
        return log.info(line);
    }
  };
}
