import type { Command } from 'commander';
import { success } from '../../domain/result.ts';
import { clientAnswer } from '../client-answer.ts';
import { viewsOf } from '../client-view.ts';
import { defineCommand } from '../define-command.ts';
import { EXIT } from '../exit-code.ts';
import type { ManagedClients } from '../managed-clients.ts';
import { type Outcome, problem } from '../outcome.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import type { AnswerOptions, Terminal } from '../terminal.ts';
import { type Environment, withClients } from '../with-clients.ts';

/** `remove <client-id>`: takes the registration out of the table. */
export function removeClient(program: Command, terminal: Terminal, environment: Environment): void {
  defineCommand(program, {
    usage: 'remove <client-id>',
    summary: 'take a client out, for good',
    description:
      'Removes a client with its secret; there is no way back but add. Tokens that it has stay good until they expire.',
    examples: [`${PROGRAM_NAME} remove billing`],
  })
    .option('--json', 'answer with one JSON document')
    .action(async (clientId: string, options: AnswerOptions) => {
      await terminal.finish(await withClients(environment, (clients) => remove(clients, clientId)), options);
    });
}

async function remove(clients: ManagedClients, clientId: string): Promise<Outcome> {
  const [removed] = viewsOf(await clients.remove(clientId));
  if (removed === undefined) return problem(EXIT.refused, `No client has the id ${clientId}.`);
  return success(clientAnswer({ ...removed, state: 'removed' }, `Client ${clientId} is removed.`));
}
