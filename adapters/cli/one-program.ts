import { createProgram, runProgram } from './command-program.ts';
import { Terminal, type TerminalStreams } from './terminal.ts';

/** Several programs under one name. */
interface OneProgram {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** A summary, and what runs the program, by the word that calls it, in the order of the help page. */
  readonly programs: Readonly<Record<string, readonly [summary: string, load: () => Promise<unknown>]>>;
}

/** What is used of the process. */
type Process = TerminalStreams & Pick<NodeJS.Process, 'argv' | 'exitCode'>;

const NOTES = `
Settings are environment variables. Each command explains itself with --help.`;

/** Takes the name of a program out of `argv` and runs it. Answers `--help` and `--version`. */
export async function runOneProgram({ programs, ...page }: OneProgram, process: Process): Promise<void> {
  const { argv } = process;
  const name = argv[2] ?? '';
  if (Object.hasOwn(programs, name)) {
    argv.splice(2, 1);
    await programs[name]?.[1]();
    return;
  }
  const terminal = new Terminal(process);
  const program = createProgram({ ...page, notes: NOTES }, terminal).helpCommand(false);
  for (const [word, [summary]] of Object.entries(programs)) program.command(word).summary(summary);
  process.exitCode = await runProgram(program, argv.slice(2), terminal);
}
