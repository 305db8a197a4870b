import { Command, CommanderError } from 'commander';
import type { SecretEncoder } from '../../application/ports/secret-encoder.ts';
import { clientCommands } from './client-commands.ts';
import { defineCommand, PROGRAM_NAME } from './define-command.ts';
import { importCommand, type StreamClientsFile } from './import-command.ts';
import { listCommand } from './list-command.ts';
import { EXIT } from './outcome.ts';
import { addCommand, hashCommand, rotateCommand } from './secret-commands.ts';
import { Terminal, type TerminalStreams } from './terminal.ts';
import type { OpenClients } from './with-clients.ts';

/** What the commands need. */
export interface CommandParts {
  /** Called by the commands that need stored clients. */
  readonly open: OpenClients;
  readonly encoder: SecretEncoder;
  readonly streamClientsFile: StreamClientsFile;
}

const NOTES = `
The database is the one that DATABASE_URL names in the environment, or the file of DATABASE_URL_FILE; its table clients is created if it is missing.
Secrets are never arguments: they are generated here, or read from standard input.

Exit codes: 0 done; 1 refused, such as an id that is unknown or taken; 2 wrong usage; 3 the database cannot be used.`;

/** Runs the command that the arguments name, and returns the exit code. Rejects only on a bug. */
export async function run(args: readonly string[], streams: TerminalStreams, parts: CommandParts): Promise<number> {
  const terminal = new Terminal(streams);
  try {
    await createProgram(terminal, parts).parseAsync([...args], { from: 'user' });
  } catch (problem) {
    if (!(problem instanceof CommanderError)) throw problem;
    // The library has reported the problem. It ends a help page in the same way, with 0.
    return problem.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  return terminal.exitCode;
}

/** The commands, in the order of the help page. */
function createProgram(terminal: Terminal, { open, encoder, streamClientsFile }: CommandParts): Command {
  const program = new Command(PROGRAM_NAME)
    .description('Manages the clients that the authorization service issues tokens to.')
    .configureOutput({
      writeOut: (text) => terminal.writeHelp(text),
      writeErr: (text) => terminal.writeUsageError(text),
    })
    .exitOverride()
    .showSuggestionAfterError(false)
    .addHelpText('after', NOTES);

  const { stdin } = terminal;
  const definitions = [
    addCommand(open, stdin),
    listCommand(open),
    rotateCommand(open, stdin),
    ...clientCommands(open),
    importCommand(open, streamClientsFile),
    hashCommand(encoder, stdin),
  ];
  for (const definition of definitions) defineCommand(program, terminal, definition);
  return program;
}
