import { runDoctor } from '../adapters/cli/doctor/run-doctor.ts';
import type { TerminalStreams } from '../adapters/cli/terminal.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { openInspections } from './open-inspections.ts';
import type { Environment } from './settings/read-environment.ts';

/** The program of `npm run doctor`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function inspectService(
  args: readonly string[],
  streams: TerminalStreams,
  environment: Environment,
): Promise<number> {
  return runDoctor(args, streams, { inspections: () => openInspections(environment), version: programVersion() });
}
