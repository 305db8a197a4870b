import { answerArguments, type ServerPage } from '../adapters/cli/server-arguments.ts';
import type { RunningServer, ShutdownMode } from '../adapters/http/server/running-server.ts';
import { limitHeapGrowth } from '../adapters/system/heap-growth.ts';
import { Watchdog } from '../adapters/system/watchdog.ts';
import { writeForPeople } from '../adapters/system/write-for-people.ts';
import { inWords, type Problem, problemIn } from '../domain/problem.ts';
import { failure, type Result } from '../domain/result.ts';

/** Milliseconds beyond the grace and drain times in which the process ends. */
const EXIT_MS = 1_850;

/** Milliseconds that a start may still take when a signal stops it. */
const START_MS = 30_000;

/** Milliseconds in which SIGTERM counts once: npm forwards one that its process group has got already. */
const SAME_SIGNAL_MS = 1_000;

/** What each signal that stops a process asks for. @param now milliseconds of a clock that nobody can set. */
export function shutdownModes(now: () => number): (signal: 'SIGTERM' | 'SIGINT') => ShutdownMode {
  let firstMs = Infinity;
  return (signal) => {
    if (signal === 'SIGINT') return 'immediate';
    firstMs = Math.min(firstMs, now());
    return now() - firstMs < SAME_SIGNAL_MS ? 'planned' : 'immediate';
  };
}

/**
 * Runs a server in this process until SIGTERM, or SIGINT, which skips the grace time; so does a SIGTERM after the first
 * second. A process that does not end in time is killed; the time begins when its event loop handles the signal. So is
 * one whose event loop hangs once it has started. Where the server cannot start, reports every reason on standard
 * error, sets a non-zero exit code and resolves with undefined.
 *
 * With arguments it does not start: `--help` and `--version` are answered, and others refused with exit code 2.
 *
 * @param page what the program is called, and how it is used.
 * @param onHangup what SIGHUP does. It does not end a service: it reopens its files.
 */
export async function run(
  page: ServerPage,
  start: () => Promise<Result<RunningServer, readonly Problem[]>>,
  onHangup: 'reopen' | 'stop' = 'reopen',
): Promise<RunningServer | undefined> {
  const response = answerArguments(page, process.argv.slice(2));
  if (response !== undefined) {
    process.exitCode = response.exitCode;
    writeForPeople(response.exitCode === 0 ? process.stdout : process.stderr, response.text);
    return undefined;
  }
  limitHeapGrowth();
  const starting = start().catch((fault: unknown) =>
    failure([problemIn(fault) ?? { code: 'fault', text: fault instanceof Error ? fault.message : 'unknown fault' }]),
  );
  const watchdog = new Watchdog();
  let current: ShutdownMode | undefined;

  async function stop(mode: ShutdownMode): Promise<void> {
    if (current === 'immediate' || current === mode) return;
    current = mode;
    watchdog.endAfter(START_MS);
    // A signal that arrives during startup counts too.
    const started = await starting;
    if (!started.ok) return;
    watchdog.endAfter(started.value.stopsWithinMs(current) + EXIT_MS);
    await started.value.stop(current);
  }

  const modeOf = shutdownModes(() => performance.now());
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(modeOf(signal)));
  process.on('SIGHUP', async () => {
    if (onHangup === 'stop') return stop('immediate');
    const started = await starting;
    if (started.ok) await started.value.hangUp();
  });
  const started = await starting;
  if (started.ok) {
    // Not earlier: a start may block the event loop for long, such as to read a large file.
    watchdog.watch();
    return started.value;
  }
  const problems = started.problem.map((problem) => `  ${inWords(problem)}\n`).join('');
  writeForPeople(process.stderr, `${page.name} does not start:\n${problems}${page.fix}\n`);
  process.exitCode = 1;
  return undefined;
}
