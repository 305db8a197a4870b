import type { Command } from 'commander';
import { clientOutcome } from '../client-outcome.ts';
import { defineCommand } from '../define-command.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import type { AnswerOptions, Terminal } from '../terminal.ts';
import { type Environment, withClients } from '../with-clients.ts';

/** `disable <client-id>`: locks the hash, so that no secret matches. */
export function disableClient(program: Command, terminal: Terminal, environment: Environment): void {
  defineCommand(program, {
    usage: 'disable <client-id>',
    summary: 'refuse a client until it is enabled again',
    description:
      'Locks the client: it gets no token from the next request on. Its secret is kept for enable. Tokens that it has stay good until they expire.',
    examples: [`${PROGRAM_NAME} disable billing`],
  })
    .option('--json', 'answer with one JSON document')
    .action(async (clientId: string, options: AnswerOptions) => {
      const disable = () =>
        withClients(environment, async (clients) => {
          const locked = await clients.lock(clientId);
          return locked.length > 0
            ? clientOutcome(clientId, locked, { messages: [`Client ${clientId} is disabled.`] })
            : clientOutcome(clientId, await clients.find(clientId), {
                messages: [`Client ${clientId} was disabled before; nothing was changed.`],
              });
        });
      await terminal.finish(await disable(), options);
    });
}
