import type { Clock } from '../../../application/ports/clock.ts';
import type { EncodeSecret } from '../../../application/ports/new-secrets.ts';
import { type CommandDefinition, runCommand } from '../command-program.ts';
import type { Input } from '../read-secret.ts';
import { Terminal, type TerminalStreams } from '../terminal.ts';
import { addCommand } from './add-command.ts';
import { applyCommand, type OpenApplied } from './apply-command.ts';
import { clientCommands, type OpenClients, PROGRAM_NAME } from './client-command.ts';
import type { StreamClientsFile } from './clients-source.ts';
import { exportCommand, type FormatClient } from './export-command.ts';
import { importCommand } from './import-command.ts';
import { listCommand } from './list-command.ts';
import { hashCommand, rotateCommand, SECRET_COMMANDS } from './secret-commands.ts';
import { STATE_COMMANDS } from './state-commands.ts';
import { UPDATE_COMMAND } from './update-command.ts';

/** What the commands need. */
interface CommandParts {
  /** Called by the commands that need stored clients. */
  readonly open: OpenClients;
  readonly encodeSecret: EncodeSecret;
  readonly clock: Clock;
  readonly streamClientsFile: StreamClientsFile;
  readonly openApplied: OpenApplied;
  readonly formatClient: FormatClient;
  /** Commands of features, the last ones of the help page. */
  readonly more: (program: string, stdin: Input) => readonly CommandDefinition[];
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
  { open, encodeSecret, clock, streamClientsFile, openApplied, formatClient, more, version }: CommandParts,
): Promise<number> {
  const { stdin } = streams;
  const terminal = new Terminal(streams);
  const commands = [
    addCommand(open, stdin, clock),
    listCommand(open),
    rotateCommand(open, stdin),
    ...clientCommands(open, [UPDATE_COMMAND]),
    ...clientCommands(open, STATE_COMMANDS),
    ...clientCommands(open, SECRET_COMMANDS),
    applyCommand(open, openApplied, terminal),
    importCommand(open, streamClientsFile),
    exportCommand(open, formatClient),
    hashCommand(encodeSecret, stdin),
    ...more(PROGRAM_NAME, stdin),
  ];
  const description = 'Manages the clients that the authorization service issues tokens to.';
  const page = { name: PROGRAM_NAME, version, description, notes: NOTES };
  return runCommand(page, commands, args, terminal);
}
