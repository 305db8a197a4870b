import { manageClients } from '../../../config/programs/clients-program.ts';
import { type AuditLine, auditLinesIn } from '../../support/audit-lines.ts';
import { runProgram } from '../../support/program.ts';
import { type FinishedProgram, runAtTerminal, runInProcess } from '../../support/run-in-process.ts';

/** The result of one run of the program. */
export interface Run extends FinishedProgram {
  /** Without the audit lines. */
  readonly stderr: string;
  /** The audit lines on standard error. */
  readonly audit: readonly AuditLine[];
  /** The JSON document on standard output. Throws if it is not JSON. */
  json(): Record<string, unknown>;
}

export type RunClients = (args: readonly string[], stdin?: string | Buffer) => Promise<Run>;

type Settings = Readonly<Record<string, string>>;

/** `npm run clients --` against a database, in a separate process. */
export function clientsProgram(
  databaseUrl: string,
  nodeArgs: readonly string[] = [],
  settings: Settings = {},
): RunClients {
  return async (args, stdin = '') => {
    await using program = runProgram('config/clients.ts', { DATABASE_URL: databaseUrl, ...settings }, args, nodeArgs);
    // A program that ends without reading closes the pipe.
    program.process.stdin?.on('error', () => {});
    program.process.stdin?.end(stdin);
    const exitCode = await program.ended();
    return runOf({ exitCode, stdout: program.stdout(), stderr: program.stderr() });
  };
}

/** The same in this process, for tests of what the commands answer and change. */
export function clientsInProcess(databaseUrl: string, settings: Settings = {}): RunClients {
  return async (args, stdin) =>
    runOf(await runInProcess(manageClients, args, { DATABASE_URL: databaseUrl, ...settings }, stdin));
}

/** The same at a terminal, where somebody types a response. */
export async function clientsAtTerminal(
  args: readonly string[],
  settings: Settings,
  respond: () => Promise<string>,
): Promise<Run> {
  return runOf(await runAtTerminal(manageClients, args, settings, respond));
}

function runOf({ exitCode, stdout, stderr }: FinishedProgram): Run {
  const complaints = stderr.replaceAll(/^\{"log":"audit".*\n/gm, '');
  return { exitCode, stdout, stderr: complaints, audit: auditLinesIn(stderr), json: () => JSON.parse(stdout) };
}
