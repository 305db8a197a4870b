import { createRequire } from 'node:module';
import { devNull } from 'node:os';

interface PactCore {
  setLogLevel(level: string): void;
  /** Sets up the core's log on its way, as its first call does in each test file. */
  getTlsCaCertificate(logLevel: string, logFile: string): string;
}

/**
 * Takes away the log of Pact's core, which errors repeat anyway. The core sets up its log once in a process, and writes on
 * standard error when the next test file asks for it again, unless the log goes to a file.
 */
export function quietPact(): void {
  const core = createRequire(import.meta.resolve('@pact-foundation/pact'))('@pact-foundation/pact-core') as PactCore;
  core.setLogLevel('error');
  core.getTlsCaCertificate('error', devNull);
}
