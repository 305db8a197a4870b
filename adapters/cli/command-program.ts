import { Command, CommanderError, Option } from 'commander';
import { EXIT, type OutputStream } from './outcome.ts';
import { type Closable, problemOf, type StorageTexts } from './storage-fault.ts';
import type { OutputOptions, Terminal } from './terminal.ts';

export const JSON_OPTION = new Option('--json', 'print one JSON document');

/** A command, its help page and its work, with what its program has for all commands. */
export interface CommandDefinition<Parts, Options extends OutputOptions = OutputOptions> {
  /** The command that this one belongs to, such as `secrets` of `secrets add`. */
  readonly group?: string;
  /** Name and arguments, such as `show <client-id>`. */
  readonly usage: string;
  readonly summary: string;
  readonly description: string;
  /** Whole command lines. */
  readonly examples: readonly string[];
  readonly options: readonly Option[];
  /** What a person is asked before it runs, at a terminal; undefined if nothing is lost. `--yes` answers it. */
  asks?(options: Options, ...args: readonly string[]): string | undefined;
  run(parts: Parts, options: Options, ...args: readonly string[]): OutputStream;
}

type CommandWork<Parts, Options extends OutputOptions> = Pick<
  CommandDefinition<Parts, Options>,
  'options' | 'asks' | 'run'
>;

/** The help page of a program. */
interface ProgramPage {
  readonly version: string;
  /** How users call it, such as `npm run clients --`. */
  readonly name: string;
  readonly description: string;
  /** The end of the help page. */
  readonly notes: string;
  readonly storageTexts?: StorageTexts;
}

/**
 * Runs the one of these commands that the arguments name, and returns the exit code. Rejects only on a bug. @param
 * parts are closed at its end.
 */
export function runCommand<Parts extends Closable>(
  page: ProgramPage,
  commands: readonly CommandDefinition<Parts>[],
  parts: Parts,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const program = createProgram(page, terminal);
  for (const { group, usage, summary, description, examples, ...work } of commands) {
    const command = (group === undefined ? program : groupOf(program, group))
      .command(usage)
      .summary(summary)
      .description(description)
      .addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
    defineWork(command, terminal, work, parts, page);
  }
  return runProgram(program, args, terminal);
}

/** The same for a program that is one command. */
export function runWork<Options extends OutputOptions>(
  page: ProgramPage,
  work: CommandWork<Closable, Options>,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const program = createProgram(page, terminal);
  defineWork(program, terminal, work, { close: async () => {} }, page);
  return runProgram(program, args, terminal);
}

/** A program that writes its help page and its complaints to this terminal. */
export function createProgram({ name, version, description, notes }: ProgramPage, terminal: Terminal): Command {
  // Commander wraps the description for the terminal.
  return new Command(name)
    .description(description.replaceAll('\n', ' '))
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

/** Gives a command its options, and work whose output the terminal shows. */
function defineWork<Parts extends Closable, Options extends OutputOptions>(
  command: Command,
  terminal: Terminal,
  { options, asks, run }: CommandWork<Parts, Options>,
  parts: Parts,
  { storageTexts }: ProgramPage,
): void {
  for (const option of options) command.addOption(option);
  if (asks !== undefined) command.option('--yes', 'do not ask, at a terminal');
  command.action(async () => {
    const given = command.opts<Options & { readonly yes?: true }>();
    const question = given.yes ? undefined : asks?.(given, ...command.args);
    if (question !== undefined && !(await terminal.confirms(question))) {
      return terminal.fail(EXIT.refused, ['Nothing was changed.']);
    }
    try {
      await terminal.show(run(parts, given, ...command.args), given).finally(() => parts.close());
    } catch (fault) {
      const { exitCode, messages } = problemOf(fault, storageTexts);
      terminal.fail(exitCode, messages);
    }
  });
}

/** The command with this name, which has commands of its own. */
function groupOf(program: Command, name: string): Command {
  const found = program.commands.find((command) => command.name() === name);
  return found ?? program.command(name).summary(`add and remove ${name} of a client`);
}
