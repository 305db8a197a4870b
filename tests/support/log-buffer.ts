import { Writable } from 'node:stream';
import type { Logger } from 'pino';
import { createJsonLog } from '../../adapters/log/json-log.ts';

/** A log that is kept in memory instead of printed. */
interface LogBuffer {
  readonly log: Logger;
  /** Takes lines that something else has made. */
  write(line: string): void;
  text(): string;
  /** The lines so far, oldest first. */
  lines(): readonly Record<string, unknown>[];
}

export function createLogBuffer(): LogBuffer {
  const written: string[] = [];
  const log = createJsonLog(
    new Writable({
      write(chunk, _encoding, done) {
        written.push(String(chunk));
        done();
      },
    }),
  );
  const text = () => written.join('');
  return {
    log,
    write: (line) => void written.push(line),
    text,
    lines: () =>
      text()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  };
}
