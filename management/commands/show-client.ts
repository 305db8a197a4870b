import type { Command } from 'commander';
import { clientOutcome } from '../client-outcome.ts';
import { defineCommand } from '../define-command.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import type { AnswerOptions, Terminal } from '../terminal.ts';
import { type Environment, withClients } from '../with-clients.ts';

/** `show <client-id>`: one registration. */
export function showClient(program: Command, terminal: Terminal, environment: Environment): void {
  defineCommand(program, {
    usage: 'show <client-id>',
    summary: 'show one client',
    description: 'Shows one client, and what is wrong with it where the service refuses it. Never its hash.',
    examples: [`${PROGRAM_NAME} show billing`, `${PROGRAM_NAME} show --json -- -an-id-with-a-dash`],
  })
    .option('--json', 'answer with one JSON document')
    .action(async (clientId: string, options: AnswerOptions) => {
      const show = () =>
        withClients(environment, async (clients) =>
          clientOutcome(clientId, await clients.find(clientId), { messages: [] }),
        );
      await terminal.finish(await show(), options);
    });
}
