import type { RunningServer, ShutdownMode } from '../adapters/http/server/running-server.ts';
import { failure, type Result } from '../domain/result.ts';

const MODE_OF_SIGNAL: readonly [NodeJS.Signals, ShutdownMode][] = [
  ['SIGTERM', 'planned'],
  ['SIGINT', 'immediate'],
];

/**
 * Runs a server in this process until SIGTERM, or SIGINT, which skips the grace time. Where the server cannot start, reports
 * every reason on standard error, sets a non-zero exit code and resolves with undefined.
 *
 * @param name the subject of that report, such as `The service`.
 */
export async function run(
  name: string,
  start: () => Promise<Result<RunningServer, readonly string[]>>,
): Promise<RunningServer | undefined> {
  const starting = start().catch((error: unknown) =>
    failure([error instanceof Error ? error.message : 'unknown fault']),
  );
  // A signal that arrives during the start counts too.
  for (const [signal, mode] of MODE_OF_SIGNAL) {
    process.once(signal, async () => {
      const started = await starting;
      if (started.ok) await started.value.stop(mode);
    });
  }
  const started = await starting;
  if (started.ok) return started.value;
  process.stderr.write(`${name} does not start:\n${started.problem.map((problem) => `  ${problem}\n`).join('')}`);
  process.exitCode = 1;
  return undefined;
}
