import { InvalidArgumentError, Option } from 'commander';
import type { ClientsPlan } from '../../../application/clients-program/plan-clients.ts';
import type { PlanEntry } from '../../../application/ports/client-store.ts';
import { ruleOfOwner } from '../../../domain/client-fields.ts';
import { JSON_OPTION } from '../command-program.ts';
import { EXIT, type OutputPart, type OutputStream, Problem } from '../outcome.ts';
import { printableJson, shortened } from '../printable.ts';
import { SHORT_SECRET_OPTION, type ShortSecretOptions } from '../read-secret.ts';
import type { Terminal } from '../terminal.ts';
import { textTable } from '../text-table.ts';
import { type ClientCommand, type ClientUseCases, PROGRAM_NAME } from './client-command.ts';
import { collected, GIVEN_COST_OPTION, type GivenCostOptions } from './client-options.ts';
import { CELL_MAX } from './client-output.ts';
import { ClientsSource } from './clients-source.ts';

/** More clients than this of each kind are counted, and not shown in the table. */
const SHOWN_MAX = 1_000;

/** Plain secrets between two lines about the progress: at cost 10, some seconds. */
const COMPARED_STEP = 100;

interface Options extends GivenCostOptions, ShortSecretOptions {
  readonly file: string;
  readonly owner?: string;
  readonly adopt?: true;
  readonly prune?: true;
  readonly allowEmpty?: true;
  readonly check?: true;
  readonly yes?: true;
  readonly allowFiles?: readonly string[];
  readonly allowEnv?: readonly string[];
}

/** `apply -f <path>`: makes the stored clients those of a file, after it has shown what changes. */
export const APPLY_COMMAND: ClientCommand<Options> = {
  usage: 'apply',
  summary: 'make the clients what a file says, after showing what changes',
  description:
    'Prints what would be added, changed and removed, asks, and does it in one transaction. Each client gets exactly what its entry says; a disabled one stays disabled. A secret is a reference, such as {"file": PATH}, {"env": NAME} or {"generate": PATH} for a client without one, or a BCrypt encoding.',
  examples: [
    `${PROGRAM_NAME} apply -f clients.yaml`,
    `${PROGRAM_NAME} apply -f clients/ --owner team-a --prune --yes`,
    `${PROGRAM_NAME} apply -f clients/ --owner team-a --prune --check`,
  ],
  options: [
    new Option('-f, --file <path>', 'file in JSON or YAML, a folder of such files, or - for standard input')
      .argParser(once)
      .makeOptionMandatory(),
    new Option('--owner <name>', 'whose clients they are; those of others are refused'),
    new Option('--adopt', 'accept registered clients that have no owner yet'),
    new Option('--prune', 'remove the other clients of the owner'),
    new Option('--allow-empty', 'let --prune remove all clients of the owner, and read empty folders'),
    new Option('--check', 'change nothing; the exit code is 4 if something would change').conflicts('yes'),
    new Option('--yes', 'do not ask; needed where no terminal is'),
    new Option('--allow-files <folder>', 'only files in it may be secrets; repeatable').argParser(collected),
    new Option(
      '--allow-env <name>',
      'only this variable may be a secret, or with * at its end those; repeatable',
    ).argParser(collected),
    SHORT_SECRET_OPTION,
    GIVEN_COST_OPTION,
    JSON_OPTION,
  ],
  async *run({ open, openApplied, terminal }, options) {
    const { file, owner, prune, allowEmpty, allowFiles, allowEnv } = options;
    if (prune && owner === undefined) throw new Problem(EXIT.usage, '--prune needs --owner.');
    const rule = owner === undefined ? undefined : ruleOfOwner(owner);
    if (rule !== undefined) throw new Problem(EXIT.usage, `--owner ${rule}.`);
    if (allowEnv?.some((name) => /\*./.test(name)))
      throw new Problem(EXIT.usage, 'A * in --allow-env must be at its end.');
    const isRestricted = allowFiles !== undefined || allowEnv !== undefined;
    const allowed = isRestricted ? { folders: allowFiles ?? [], variables: allowEnv ?? [] } : undefined;
    const mayBeEmpty = !prune || allowEmpty === true;
    const source = await ClientsSource.ofFolder(file, openApplied(allowed, options), { mayBeEmpty });
    yield* applySource(await open(), source, options, terminal);
  },
};

/** The last of two files would count, and the clients of the other one would be pruned. */
function once(path: string, given: string | undefined): string {
  if (given !== undefined) throw new InvalidArgumentError('Name one file or folder.');
  return path;
}

async function* applySource(
  { planClients }: ClientUseCases,
  source: ClientsSource,
  { owner, adopt, prune, allowEmpty, check, cost, yes, json }: Options,
  terminal: Terminal,
): OutputStream {
  const planned = await planClients(source.batches(), {
    cost: check ? undefined : cost,
    existing: 'match',
    owner,
    ...(adopt && { unowned: 'adopt' }),
    ...(prune && { others: 'remove' }),
    onCompared(count) {
      if (count % COMPARED_STEP === 0) terminal.say([`${count} secrets compared.`]);
    },
  });
  if (!planned.ok) throw source.refusal(planned.problem);
  const plan = planned.value;
  const { added, changed, removed, unchanged } = plan.counts;
  yield* json ? documentOf(plan) : tableOf(plan);
  yield { message: `${added} to add, ${changed} to change, ${removed} to remove, ${unchanged} unchanged.` };
  if (added + changed + removed === 0) return;
  if (prune && !allowEmpty && added + changed + unchanged === 0) {
    const all = `The file has no client, so that --prune would remove all clients of ${owner}`;
    throw new Problem(EXIT.refused, `Nothing was changed: ${all}; --allow-empty does it.`);
  }
  if (check) throw new Problem(EXIT.wouldChange, 'Nothing was changed.');
  if (!yes && !terminal.isInteractive) {
    throw new Problem(EXIT.refused, 'Nothing was changed: without a terminal, --yes applies the plan.');
  }
  if (!yes && !(await terminal.confirms('Apply this plan?'))) throw new Problem(EXIT.refused, 'Nothing was changed.');
  const applied = await plan.apply(source.file());
  if (!applied.ok) throw new Problem(EXIT.refused, `${applied.problem} Nothing was changed.`);
  yield { message: `${added} added, ${changed} changed, ${removed} removed.` };
}

const ACTIONS = { added: 'add', changed: 'change', removed: 'remove' } as const;

/** A line for each client that changes, without values. */
function tableOf({ entries }: ClientsPlan): readonly OutputPart[] {
  const rows = Object.entries(ACTIONS).flatMap(([kind, action]) => {
    const changed = entries(kind as keyof typeof ACTIONS);
    const shown = changed
      .slice(0, SHOWN_MAX)
      .map((entry) => [action, shortened(entry.clientId, CELL_MAX), entry.changes.join(', ')]);
    const more = changed.length - shown.length;
    return more > 0 ? [...shown, [action, `… and ${more} more`, '']] : shown;
  });
  return rows.length === 0 ? [] : [{ text: `${textTable([['action', 'client_id', 'fields'], ...rows])}\n` }];
}

/** Ids and changes, and the number of clients that stay as they are. */
function documentOf({ entries, counts }: ClientsPlan): readonly OutputPart[] {
  const changed = entries('changed').map(({ clientId, changes }) => ({ client_id: clientId, fields: changes }));
  const ids = { added: idsOf(entries('added')), changed, removed: idsOf(entries('removed')) };
  return [{ text: `${printableJson({ ...ids, unchanged: counts.unchanged })}\n` }];
}

export function idsOf(entries: readonly PlanEntry[]): readonly string[] {
  return entries.map(({ clientId }) => clientId);
}
