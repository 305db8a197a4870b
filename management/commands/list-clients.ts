import type { Command } from 'commander';
import { success } from '../../domain/result.ts';
import { viewsOf } from '../client-view.ts';
import { defineCommand } from '../define-command.ts';
import { listAnswer } from '../list-answer.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import type { AnswerOptions, Terminal } from '../terminal.ts';
import { type Environment, withClients } from '../with-clients.ts';

/** `list`: every registration, broken ones too. */
export function listClients(program: Command, terminal: Terminal, environment: Environment): void {
  defineCommand(program, {
    usage: 'list',
    summary: 'show every client',
    description: 'Shows every client by its id, and what is wrong with those that the service refuses. Never a hash.',
    examples: [`${PROGRAM_NAME} list`, `npm run --silent clients -- list --json | jq -r '.[].client_id'`],
  })
    .option('--json', 'answer with one JSON document, an array')
    .action(async (options: AnswerOptions) => {
      const list = () =>
        withClients(environment, async (clients) => success(listAnswer(viewsOf(await clients.list()))));
      await terminal.finish(await list(), options);
    });
}
