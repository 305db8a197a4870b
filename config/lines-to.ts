import type { Lines } from '../adapters/log/line-writer.ts';
import { DependencyUnavailable } from '../application/ports/dependency-unavailable.ts';

/**
 * Lines that a function takes at once. One for which it throws is lost, as on a full disk: it ends no request, and not
 * the process.
 */
export function linesTo(writeLog: (line: string) => void): Lines {
  const load = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 0 };
  const write = (line: string) => {
    try {
      writeLog(line);
      return true;
    } catch {
      load.linesLost += 1;
      return false;
    }
  };
  return Object.assign(load, {
    name: 'log',
    faultCode: undefined,
    readiness: () => ({ ready: true }) as const,
    write,
    async writeRequired(line: string) {
      if (!write(line)) throw new DependencyUnavailable('audit log', new Error('the function has thrown'));
    },
  });
}
