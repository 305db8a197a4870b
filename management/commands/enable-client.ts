import type { Command } from 'commander';
import { clientOutcome } from '../client-outcome.ts';
import { viewsOf } from '../client-view.ts';
import { defineCommand } from '../define-command.ts';
import { EXIT } from '../exit-code.ts';
import type { ManagedClients } from '../managed-clients.ts';
import { type Outcome, problem } from '../outcome.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import type { AnswerOptions, Terminal } from '../terminal.ts';
import { type Environment, withClients } from '../with-clients.ts';

/** `enable <client-id>`: takes the lock off, so that the old secret is good again. */
export function enableClient(program: Command, terminal: Terminal, environment: Environment): void {
  defineCommand(program, {
    usage: 'enable <client-id>',
    summary: 'let a disabled client in again, with its old secret',
    description: 'Unlocks a client that was disabled: the secret that it had is good from the next request on.',
    examples: [`${PROGRAM_NAME} enable billing`],
  })
    .option('--json', 'answer with one JSON document')
    .action(async (clientId: string, options: AnswerOptions) => {
      await terminal.finish(await withClients(environment, (clients) => enable(clients, clientId)), options);
    });
}

async function enable(clients: ManagedClients, clientId: string): Promise<Outcome> {
  const unlocked = await clients.unlock(clientId);
  if (unlocked.length > 0) {
    return clientOutcome(clientId, unlocked, { messages: [`Client ${clientId} is enabled.`] });
  }
  const found = await clients.find(clientId);
  if (viewsOf(found).some(({ state }) => state === 'disabled')) {
    return problem(
      EXIT.refused,
      `Client ${clientId} is locked without a hash behind the lock: give it a secret with rotate first.`,
    );
  }
  return clientOutcome(clientId, found, { messages: [`Client ${clientId} was not disabled; nothing was changed.`] });
}
