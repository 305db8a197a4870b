import { Command } from 'commander';
import { addClient } from './commands/add-client.ts';
import { disableClient } from './commands/disable-client.ts';
import { enableClient } from './commands/enable-client.ts';
import { hashSecret } from './commands/hash-secret.ts';
import { importClients } from './commands/import-clients.ts';
import { listClients } from './commands/list-clients.ts';
import { removeClient } from './commands/remove-client.ts';
import { rotateSecret } from './commands/rotate-secret.ts';
import { showClient } from './commands/show-client.ts';
import { PROGRAM_NAME } from './program-name.ts';
import type { Terminal } from './terminal.ts';
import type { Environment } from './with-clients.ts';

const NOTES = `
The database is the one that DATABASE_URL names in the environment; its table clients is made where there is none.
Secrets are never arguments: they are made here, or read from standard input.

Exit codes: 0 done; 1 refused, as for an id that is unknown or taken; 2 wrong usage; 3 the database cannot be used.`;

/** The commands, by what they are for. */
export function createProgram(terminal: Terminal, environment: Environment): Command {
  const program = new Command(PROGRAM_NAME)
    .description('Manages the clients that the authorization service issues tokens to.')
    .configureOutput({
      writeOut: (text) => terminal.writeHelp(text),
      writeErr: (text) => terminal.writeUsageError(text),
    })
    .exitOverride()
    .showSuggestionAfterError(false)
    .addHelpText('after', NOTES);

  addClient(program, terminal, environment);
  listClients(program, terminal, environment);
  showClient(program, terminal, environment);
  rotateSecret(program, terminal, environment);
  disableClient(program, terminal, environment);
  enableClient(program, terminal, environment);
  removeClient(program, terminal, environment);
  importClients(program, terminal, environment);
  hashSecret(program, terminal);
  return program;
}
