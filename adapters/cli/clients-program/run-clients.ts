import { type CommandDefinition, runCommand } from '../command-program.ts';
import type { Input } from '../read-secret.ts';
import { type OpenStorage, whenUsed } from '../storage-fault.ts';
import { Terminal, type TerminalStreams } from '../terminal.ts';
import { ADD_COMMAND } from './add-command.ts';
import { APPLY_COMMAND } from './apply-command.ts';
import { type ClientsParts, type ClientUseCases, PROGRAM_NAME } from './client-command.ts';
import { EXPORT_COMMAND } from './export-command.ts';
import { IMPORT_COMMAND } from './import-command.ts';
import { LIST_COMMAND } from './list-command.ts';
import { HASH_COMMAND, ROTATE_COMMAND, SECRET_COMMANDS } from './secret-commands.ts';
import { STATE_COMMANDS } from './state-commands.ts';
import { UPDATE_COMMAND } from './update-command.ts';

/** In the order of the help page. */
const COMMANDS: readonly CommandDefinition<ClientsParts>[] = [
  ADD_COMMAND,
  LIST_COMMAND,
  ROTATE_COMMAND,
  UPDATE_COMMAND,
  ...STATE_COMMANDS,
  ...SECRET_COMMANDS,
  APPLY_COMMAND,
  IMPORT_COMMAND,
  EXPORT_COMMAND,
  HASH_COMMAND,
];

interface ProgramParts extends Omit<ClientsParts, 'open' | 'close' | 'stdin' | 'terminal'> {
  readonly open: OpenStorage<ClientUseCases>;
  /** Commands of features, the last ones of the help page. */
  readonly more: (program: string, stdin: Input) => readonly CommandDefinition<unknown>[];
  readonly version: string;
}

const NOTES = `
The database is the one that DATABASE_URL names in the environment, or the file of DATABASE_URL_FILE; its table clients has to exist: npm run migrate creates it.
With DATABASE_FILE in place of a URL, it is that file of SQLite.
Secrets are never arguments: they are generated here, or read from standard input.

Exit codes: 0 done; 1 refused, such as an id that is unknown or taken; 2 wrong usage; 3 the database cannot be used; 4 apply --check: something would change.`;

/** `npm run clients`: manages the registrations. Returns the exit code. Rejects only on a bug. */
export function runClients(
  args: readonly string[],
  streams: TerminalStreams,
  { open, more, version, ...parts }: ProgramParts,
): Promise<number> {
  const { stdin } = streams;
  const terminal = new Terminal(streams);
  const description = 'Manages the clients that the authorization service issues tokens to.';
  const page = { name: PROGRAM_NAME, version, description, notes: NOTES };
  const commands = [...COMMANDS, ...more(PROGRAM_NAME, stdin)];
  return runCommand(page, commands, { ...parts, ...whenUsed(open), stdin, terminal }, args, terminal);
}
