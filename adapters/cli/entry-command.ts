import { type CommandDefinition, JSON_OPTION } from './define-command.ts';
import type { Outcome } from './outcome.ts';
import type { AnswerOptions } from './terminal.ts';
import { type ClientUseCases, type OpenClients, withClients } from './with-clients.ts';

/** A command on one entry of a client, such as a secret or a key. The second argument, if there is one, names the entry. */
export interface EntryCommand<Options extends AnswerOptions> extends Omit<CommandDefinition, 'run'> {
  run(clients: ClientUseCases, options: Options, clientId: string, entry: string | undefined): Promise<Outcome>;
}

/** The commands, with a store that is open while they run. */
export function entryCommands<Options extends AnswerOptions>(
  open: OpenClients,
  commands: readonly EntryCommand<Options>[],
): readonly CommandDefinition<Options>[] {
  return commands.map(({ run, options, ...help }) => ({
    ...help,
    options: [...options, JSON_OPTION],
    run: (given, clientId = '', entry) => withClients(open, (clients) => run(clients, given, clientId, entry)),
  }));
}
