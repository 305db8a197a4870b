import { SystemClock } from '../../adapters/system/system.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { readLocationsSettings } from '../../config/programs/locations-settings.ts';
import { startResourceServer } from '../../config/programs/start-resource-server.ts';
import { createLogBuffer } from './log-buffer.ts';
import { problemsIn } from './problems.ts';
import { ISSUER } from './running-service.ts';

export interface ResourceServerUnderTest extends AsyncDisposable {
  readonly url: string;
  /** The lines of the log so far, oldest first. */
  logLines(): readonly Record<string, unknown>[];
  logText(): string;
}

/** The real resource server, built as in production, on a free loopback port, with its log kept in memory. */
export async function startResourceServerUnderTest(
  environment: Readonly<Record<string, string>>,
  clock: Clock = new SystemClock(),
): Promise<ResourceServerUnderTest> {
  const settings = readLocationsSettings({ PORT: '0', TOKEN_ISSUER: ISSUER, ...environment });
  if (!settings.ok) throw new Error(problemsIn(settings).join('\n'));
  const { log, lines, text } = createLogBuffer();
  const server = await startResourceServer(settings.value, clock, log);
  return {
    url: `http://${server.host}:${server.port}`,
    logLines: lines,
    logText: text,
    [Symbol.asyncDispose]: () => server.stop('immediate'),
  };
}
