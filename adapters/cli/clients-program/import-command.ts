import { Option } from 'commander';
import { JSON_OPTION } from '../command-program.ts';
import { EXIT, type OutputStream, Problem } from '../outcome.ts';
import { printableJson } from '../printable.ts';
import { idsOf } from './apply-command.ts';
import { type ClientCommand, type ClientUseCases, PROGRAM_NAME } from './client-command.ts';
import { GIVEN_COST_OPTION, type GivenCostOptions } from './client-options.ts';
import { ClientsSource } from './clients-source.ts';

interface Options extends GivenCostOptions {
  readonly replace?: true;
  readonly dryRun?: true;
}

/** `import <file>`: registers the clients of a clients file, all or none. */
export const IMPORT_COMMAND: ClientCommand<Options> = {
  usage: 'import <file>',
  summary: 'register every client of a clients file, or none',
  description:
    'Registers the clients of a file in the format of CLIENTS_FILE, or the same in YAML, all of them or none. {noop} secrets are hashed with BCrypt. With --replace, registered clients become exactly what their entry says; disabled ones stay disabled.',
  examples: [
    `${PROGRAM_NAME} import clients.json --dry-run`,
    `${PROGRAM_NAME} import clients.json`,
    `${PROGRAM_NAME} import clients.json --replace --json`,
  ],
  options: [
    new Option('--replace', 'change existing clients instead of refusing the file'),
    new Option('--dry-run', 'change nothing, and say what would be changed').conflicts('json'),
    GIVEN_COST_OPTION,
    JSON_OPTION,
  ],
  async *run({ open, readClientsFile }, options, path = '') {
    const source = await ClientsSource.ofFile(path, readClientsFile);
    yield* importFile(await open(), source, options);
  },
};

async function* importFile(
  { planClients }: ClientUseCases,
  source: ClientsSource,
  { replace, dryRun, cost, json }: Options,
): OutputStream {
  const planned = await planClients(source.batches(), {
    cost: dryRun ? undefined : cost,
    existing: replace ? 'replace' : 'refuse',
  });
  if (!planned.ok) throw source.refusal(planned.problem);
  const plan = planned.value;
  const { added, replaced, locked } = plan.counts;
  const said = `${added} would be added, ${replaced + locked} replaced, ${locked} of them still disabled. Nothing was changed.`;
  const imported = await (dryRun ? plan.rehearse() : plan.apply(source.file()));
  if (!imported.ok) throw new Problem(EXIT.refused, `${imported.problem} Nothing was changed.`);
  if (dryRun) return yield { message: said };
  const disabled = locked === 0 ? '' : `, ${locked} of them still disabled`;
  yield { message: `${added} added, ${replaced + locked} replaced${disabled}.` };
  if (!json) return;
  const ids = { added: idsOf(plan.entries('added')), replaced: idsOf(plan.entries('replaced', 'locked')) };
  yield { text: `${printableJson({ ...ids, still_disabled: idsOf(plan.entries('locked')) })}\n` };
}
