import { Argument } from 'commander';
import { createProgram, runProgram } from './command-program.ts';
import { COMPLETE, COMPLETION_SCRIPTS } from './completion.ts';
import { Terminal, type TerminalStreams } from './terminal.ts';

/** Several programs under one name. */
interface OneProgram {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** A summary, and what runs the program and sets the exit code, by the word that calls it, in the order of the help page. */
  readonly programs: Readonly<Record<string, readonly [summary: string, load: () => Promise<unknown>]>>;
}

/** What is used of the process. */
type Process = TerminalStreams & Pick<NodeJS.Process, 'argv' | 'exitCode'>;

type Shell = keyof typeof COMPLETION_SCRIPTS;

const NOTES = `
Settings are environment variables. Each command explains itself with --help.`;

/** Takes the name of a program out of `argv` and runs it. Answers `--help`, `--version` and `completion`. */
export async function runOneProgram({ programs, ...page }: OneProgram, process: Process): Promise<void> {
  const { argv } = process;
  const place = argv[2] === COMPLETE ? 3 : 2;
  const name = argv[place] ?? '';
  if (Object.hasOwn(programs, name)) {
    argv.splice(place, 1);
    await programs[name]?.[1]();
    return;
  }
  const terminal = new Terminal(process);
  const program = createProgram({ ...page, notes: NOTES }, terminal).helpCommand(false);
  for (const [word, [summary]] of Object.entries(programs)) program.command(word).summary(summary);
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(COMPLETION_SCRIPTS)))
    .addHelpText(
      'after',
      `\nExamples:\n  source <(${page.name} completion bash)\n  ${page.name} completion fish | source`,
    )
    .action((shell: Shell) => terminal.writeHelp(COMPLETION_SCRIPTS[shell](page.name)));
  process.exitCode = await runProgram(program, argv.slice(2), terminal);
}
