import { type Command, InvalidArgumentError, Option } from 'commander';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN } from '../../domain/stored-secret.ts';
import type { AnswerStream, Outcome } from './outcome.ts';
import type { AnswerOptions, Terminal } from './terminal.ts';

/** How users call the program; the start of every example. */
export const PROGRAM_NAME = 'npm run clients --';

/** The BCrypt cost of new secrets by default: the same as the service's own default. */
const DEFAULT_COST = 10;

export const JSON_OPTION = new Option('--json', 'print one JSON document');
export const COST_OPTION = new Option('--cost <cost>', `BCrypt cost, ${BCRYPT_COST_MIN} to ${BCRYPT_COST_MAX}`)
  .argParser(parseCost)
  .default(DEFAULT_COST);

/** Options of commands that encode a secret. */
export interface CostOptions extends AnswerOptions {
  readonly cost: number;
}

/** A command, its help page and its work. */
export interface CommandDefinition<Options extends AnswerOptions = AnswerOptions> {
  /** The command that this one belongs to, such as `secrets` of `secrets add`. */
  readonly group?: string;
  /** Name and arguments, such as `show <client-id>`. */
  readonly usage: string;
  readonly summary: string;
  readonly description: string;
  /** Whole command lines. */
  readonly examples: readonly string[];
  readonly options: readonly Option[];
  run(options: Options, ...args: readonly string[]): Promise<Outcome> | AnswerStream;
}

/** Adds a command whose help page ends with its examples, and whose outcome the terminal shows. */
export function defineCommand(
  program: Command,
  terminal: Terminal,
  { group, usage, summary, description, examples, options, run }: CommandDefinition,
): void {
  const command = (group === undefined ? program : groupOf(program, group))
    .command(usage)
    .summary(summary)
    .description(description)
    .addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
  for (const option of options) command.addOption(option);
  command.action(async () => {
    const given = command.opts<AnswerOptions>();
    const answer = run(given, ...command.args);
    if (Symbol.asyncIterator in answer) await terminal.writeAll(answer);
    else await terminal.finish(await answer, given);
  });
}

/** The command with this name, which has commands of its own. */
function groupOf(program: Command, name: string): Command {
  const found = program.commands.find((command) => command.name() === name);
  return found ?? program.command(name).summary(`add and remove ${name} of a client`);
}

function parseCost(text: string): number {
  const cost = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX) return cost;
  throw new InvalidArgumentError(`It must be a whole number from ${BCRYPT_COST_MIN} to ${BCRYPT_COST_MAX}.`);
}
