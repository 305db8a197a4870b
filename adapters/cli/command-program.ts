import { Command, CommanderError } from 'commander';
import { type CommandDefinition, defineCommand } from './define-command.ts';
import { EXIT } from './outcome.ts';
import type { Terminal } from './terminal.ts';

/** A program of several commands. */
export interface CommandProgram {
  readonly version: string;
  /** How users call it, such as `npm run clients --`. */
  readonly name: string;
  readonly description: string;
  /** The end of the help page. */
  readonly notes: string;
  /** In the order of the help page. */
  readonly commands: readonly CommandDefinition[];
}

/** Runs the command that the arguments name, and returns the exit code. Rejects only on a bug. */
export function runCommand(
  { commands, ...page }: CommandProgram,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const program = createProgram(page, terminal);
  for (const command of commands) defineCommand(program, terminal, command);
  return runProgram(program, args, terminal);
}

/** A program that writes its help page and its complaints to this terminal. */
export function createProgram(
  { name, version, description, notes }: Omit<CommandProgram, 'commands'>,
  terminal: Terminal,
): Command {
  return new Command(name)
    .description(description)
    .configureOutput({
      writeOut: (text) => terminal.writeHelp(text),
      writeErr: (text) => terminal.writeUsageError(text),
      getOutHelpWidth: () => terminal.columns,
    })
    .exitOverride()
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this page, or that of a command')
    .addHelpText('after', notes);
}

/** Runs the program with these arguments, and returns the exit code. Rejects only on a bug. */
export async function runProgram(program: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (problem) {
    if (!(problem instanceof CommanderError)) throw problem;
    // The library has reported the problem. It ends a help page in the same way, with 0.
    return problem.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  return terminal.exitCode;
}
