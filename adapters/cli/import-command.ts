import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import type { ImportedClients } from '../../application/clients/import-clients.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { type Result, success } from '../../domain/result.ts';
import { describeProblem } from './client-answer.ts';
import { COST_OPTION, type CommandDefinition, type CostOptions, JSON_OPTION, PROGRAM_NAME } from './define-command.ts';
import { type Answer, EXIT, type Outcome, problem } from './outcome.ts';
import { type OpenClients, withClients } from './with-clients.ts';

/** Reads the JSON of a clients file, or returns every problem that it has. */
export type ReadClientsFile = (json: string) => Result<readonly NewClient[], readonly string[]>;

interface Options extends CostOptions {
  readonly replace?: true;
}

/** `import <file>`: registers the clients of a clients file, all or none. */
export function importCommand(open: OpenClients, readClientsFile: ReadClientsFile): CommandDefinition<Options> {
  return {
    usage: 'import <file>',
    summary: 'register every client of a clients file, or none',
    description:
      'Registers the clients of a JSON file in the format of CLIENTS_FILE, all of them or none. {noop} secrets are hashed with BCrypt. With --replace, existing clients get the secret, name and scope of the file; disabled ones stay disabled.',
    examples: [`${PROGRAM_NAME} import clients.json`, `${PROGRAM_NAME} import clients.json --replace --json`],
    options: [
      new Option('--replace', 'change existing clients instead of refusing the file'),
      COST_OPTION,
      JSON_OPTION,
    ],
    async run({ replace, cost }, file = '') {
      const json = await readFile(file, 'utf8').catch(() => undefined);
      if (json === undefined) return problem(EXIT.refused, `The file ${file} cannot be read.`);
      const clients = readClientsFile(json);
      if (!clients.ok) return refuse(file, clients.problem);
      return withClients(open, async ({ importClients }) => {
        const existing = replace ? 'replace' : 'refuse';
        const imported = await importClients.execute(clients.value, { cost, existing });
        if (imported.ok) return success(answer(imported.value));
        const problems = imported.problem.map(({ position, ...rest }) => `entry ${position}: ${describeProblem(rest)}`);
        return refuse(file, problems);
      });
    },
  };
}

function refuse(file: string, problems: readonly string[]): Outcome {
  const lines = problems.map((line) => `  ${line}`);
  return problem(EXIT.refused, `The file ${file} is refused; nothing was changed:`, ...lines);
}

function answer({ added, replaced }: ImportedClients): Answer {
  const idsOf = (clients: ImportedClients['added']) => clients.map(({ clientId }) => clientId);
  const still_disabled = idsOf(replaced.filter(({ state }) => state === 'disabled'));
  return {
    document: { added: idsOf(added), replaced: idsOf(replaced), still_disabled },
    text: () => '',
    messages: [
      `${added.length} added, ${replaced.length} replaced.`,
      ...still_disabled.map((clientId) => `Client ${clientId} stays disabled.`),
    ],
  };
}
