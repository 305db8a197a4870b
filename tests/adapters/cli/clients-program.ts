import { fileURLToPath } from 'node:url';
import { runProgram } from '../../support/program.ts';

/** What one run of the program came to. */
export interface Run {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The document on standard output; throws where it is none. */
  json(): Record<string, unknown>;
}

export type RunClients = (args: readonly string[], stdin?: string | Buffer) => Promise<Run>;

/** Compiled files of the program, kept from run to run: starting it is most of what these tests cost. */
const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/clients-program', import.meta.url));

/** `npm run clients --` against a database, as a process of its own. */
export function clientsProgram(databaseUrl: string): RunClients {
  const environment = { DATABASE_URL: databaseUrl, NODE_COMPILE_CACHE: COMPILE_CACHE };
  return async (args, stdin = '') => {
    await using program = runProgram('config/clients.ts', environment, args);
    // A program that ends without reading closes the pipe.
    program.process.stdin?.on('error', () => {});
    program.process.stdin?.end(stdin);
    const exitCode = await program.ended();
    const stdout = program.stdout();
    return { exitCode, stdout, stderr: program.stderr(), json: () => JSON.parse(stdout) };
  };
}
