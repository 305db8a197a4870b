import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { success } from '../../domain/result.ts';
import { viewsOf } from '../client-view.ts';
import { type CostOption, costOption } from '../cost-option.ts';
import { defineCommand } from '../define-command.ts';
import { EXIT } from '../exit-code.ts';
import type { Imported, NewClient } from '../managed-clients.ts';
import { type Answer, type Outcome, problem } from '../outcome.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import { readClientsToImport } from '../read-clients-to-import.ts';
import type { AnswerOptions, Terminal } from '../terminal.ts';
import { type Environment, withClients } from '../with-clients.ts';

interface Options extends AnswerOptions, CostOption {
  readonly replace?: true;
}

/** `import <file>`: the registrations of a clients file, all or none. */
export function importClients(program: Command, terminal: Terminal, environment: Environment): void {
  defineCommand(program, {
    usage: 'import <file>',
    summary: 'register every client of a clients file, or none',
    description:
      'Registers the clients of a JSON file as CLIENTS_FILE has it, all of them or none. {noop} secrets are hashed with BCrypt. With --replace, clients that are there get the secret, name and scope of the file; disabled ones stay disabled.',
    examples: [`${PROGRAM_NAME} import clients.json`, `${PROGRAM_NAME} import clients.json --replace --json`],
  })
    .option('--replace', 'change the clients that are there already, instead of refusing the file')
    .addOption(costOption())
    .option('--json', 'answer with one JSON document')
    .action(async (file: string, options: Options) => {
      await terminal.finish(await importFile(file, options, environment), options);
    });
}

async function importFile(file: string, { replace, cost }: Options, environment: Environment): Promise<Outcome> {
  const json = await readFile(file, 'utf8').catch(() => undefined);
  if (json === undefined) return problem(EXIT.refused, `The file ${file} cannot be read.`);
  const read = await readClientsToImport(json, cost);
  if (!read.ok) return refuse(file, read.problem);
  return withClients(environment, async (clients) => {
    const imported = await clients.import(read.value, replace ? 'replace' : 'refuse');
    return imported.ok ? success(answer(imported.value)) : refuse(file, takenEntries(read.value, imported.problem));
  });
}

function refuse(file: string, problems: readonly string[]): Outcome {
  return problem(
    EXIT.refused,
    `The file ${file} is refused; nothing was changed:`,
    ...problems.map((line) => `  ${line}`),
  );
}

function takenEntries(clients: readonly NewClient[], taken: ReadonlySet<string>): readonly string[] {
  return clients.flatMap(({ clientId }, position) =>
    taken.has(clientId) ? [`entry ${position}: client_id is registered already`] : [],
  );
}

function answer({ added, replaced }: Imported): Answer {
  const views = viewsOf(replaced);
  const document = {
    added: viewsOf(added).map(({ client_id }) => client_id),
    replaced: views.map(({ client_id }) => client_id),
    still_disabled: views.filter(({ state }) => state === 'disabled').map(({ client_id }) => client_id),
  };
  const disabled = document.still_disabled.map((clientId) => `Client ${clientId} stays disabled.`);
  const summary = `${document.added.length} added, ${document.replaced.length} replaced.`;
  return { document, text: () => '', messages: [summary, ...disabled] };
}
