import { fileURLToPath } from 'node:url';
import { type AuditLine, auditLinesIn } from '../../support/audit-lines.ts';
import { runProgram } from '../../support/program.ts';

/** The result of one run of the program. */
export interface Run {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** Without the audit lines. */
  readonly stderr: string;
  /** The audit lines on standard error. */
  readonly audit: readonly AuditLine[];
  /** The JSON document on standard output. Throws if it is not JSON. */
  json(): Record<string, unknown>;
}

export type RunClients = (args: readonly string[], stdin?: string | Buffer) => Promise<Run>;

/** The compiled files of the program are kept between runs, because most of the time of these tests is spent on starting it. */
const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/clients-program', import.meta.url));

/** `npm run clients --` against a database, in a separate process. */
export function clientsProgram(
  databaseUrl: string,
  nodeArgs: readonly string[] = [],
  settings: Readonly<Record<string, string>> = {},
): RunClients {
  const environment = { DATABASE_URL: databaseUrl, NODE_COMPILE_CACHE: COMPILE_CACHE, ...settings };
  return async (args, stdin = '') => {
    await using program = runProgram('config/clients.ts', environment, args, nodeArgs);
    // A program that ends without reading closes the pipe.
    program.process.stdin?.on('error', () => {});
    program.process.stdin?.end(stdin);
    const exitCode = await program.ended();
    const stdout = program.stdout();
    const stderr = program.stderr().replaceAll(/^\{"log":"audit".*\n/gm, '');
    return { exitCode, stdout, stderr, audit: auditLinesIn(program.stderr()), json: () => JSON.parse(stdout) };
  };
}
