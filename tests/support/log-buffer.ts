import { createJsonLog, type JsonLog } from '../../adapters/log/json-log.ts';

/** A log that is kept in memory instead of printed. */
interface LogBuffer {
  readonly log: JsonLog;
  /** Takes lines that something else has made. */
  write(line: string): void;
  text(): string;
  /** The lines so far, oldest first. */
  lines(): readonly Record<string, unknown>[];
}

export function createLogBuffer(): LogBuffer {
  const written: string[] = [];
  const log = createJsonLog({ write: (line) => written.push(line) });
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
