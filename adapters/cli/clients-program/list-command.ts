import { InvalidArgumentError, Option } from 'commander';
import type { ListedPage } from '../../../application/clients-program/list-clients.ts';
import type { ClientDocument } from '../../../domain/client-document.ts';
import { CHOSEN_SECRET_COST } from '../../../domain/stored-secret.ts';
import { JSON_OPTION } from '../command-program.ts';
import { EXIT, type OutputStream, Problem } from '../outcome.ts';
import { printableJson, shortened } from '../printable.ts';
import type { OutputOptions } from '../terminal.ts';
import { GrowingTable } from '../text-table.ts';
import { type ClientCommand, type ClientUseCases, PROGRAM_NAME } from './client-command.ts';
import { PREFIX_OPTION, parseDuration } from './client-options.ts';
import { CELL_MAX, LIST_COLUMNS, listedRow, problemsOf } from './client-output.ts';

/** The columns are as wide as the first rows need; rows of a longer list follow when they are read. */
const ROWS_AT_ONCE = 500;

/** Clients with a weak secret that are named. */
const WEAK_NAMED_MAX = 10;

interface Options extends OutputOptions {
  readonly prefix: string;
  readonly after?: string;
  readonly limit?: number;
  readonly state?: ClientDocument['state'];
  /** Seconds. */
  readonly unusedFor?: number;
}

const UNRECORDED = 'No last use is recorded in this database: start the service with RECORD_LAST_USED=true.';

/** `list`: the clients, including broken ones, in pages. */
export const LIST_COMMAND: ClientCommand<Options> = {
  usage: 'list',
  summary: 'show clients',
  description:
    'Shows clients in the order of their ids, and what is wrong with those that the service refuses. Never a hash. All clients, unless options select some; long values are cut.',
  examples: [
    `${PROGRAM_NAME} list --prefix billing- --state broken`,
    `${PROGRAM_NAME} list --limit 100 --after billing-7`,
    `npm run --silent clients -- list --json | jq -r '.[].client_id'`,
  ],
  options: [
    PREFIX_OPTION,
    new Option('--after <client-id>', 'only ids behind this one'),
    new Option('--limit <count>', 'the most clients to show').argParser(parseLimit),
    new Option(
      '--unused-for <time>',
      'only clients without a token for so long, such as 90d; needs RECORD_LAST_USED',
    ).argParser(parseDuration),
    new Option('--state <state>', 'only clients of this state').choices(['enabled', 'disabled', 'broken']),
    JSON_OPTION,
  ],
  async *run({ open }, options) {
    const clients = await open();
    if (options.unusedFor !== undefined && !(await clients.recordsLastUse()))
      throw new Problem(EXIT.refused, UNRECORDED);
    yield* options.json ? listAsJson(clients, options) : listAsTable(clients, options);
  },
};

async function* listAsTable({ listClients }: ClientUseCases, options: Options): OutputStream {
  const table = new GrowingTable();
  const weak = new WeakClients();
  let rows: (readonly string[])[] = [];
  let messages: string[] = [];
  let count = 0;
  let last: string | undefined;
  for await (const page of listClients(options)) {
    const { clients } = page;
    weak.add(page);
    if (count === 0) rows.push(LIST_COLUMNS);
    rows.push(...clients.map(listedRow));
    messages.push(...problemsOf(clients));
    count += clients.length;
    last = clients.at(-1)?.client_id;
    if (rows.length < ROWS_AT_ONCE) continue;
    yield { text: table.add(rows) };
    for (const message of messages) yield { message };
    [rows, messages] = [[], []];
  }
  if (count > 0) yield { text: table.add(rows) };
  for (const message of [...messages, ...weak.messages()]) yield { message };
  if (count === 0) yield { message: isSelection(options) ? 'No client matches.' : 'No client is registered.' };
  if (count === options.limit) yield { message: `Stopped at --limit ${count}; continue with --after ${last}` };
}

/** An array with a line for each client. If a fault ends the list, the array is not closed. */
async function* listAsJson({ listClients }: ClientUseCases, options: Options): OutputStream {
  const weak = new WeakClients();
  let separator = '[';
  for await (const page of listClients(options)) {
    weak.add(page);
    yield { text: separator + page.clients.map(printableJson).join(',\n') };
    separator = ',\n';
    for (const message of problemsOf(page.clients)) yield { message };
  }
  yield { text: separator === '[' ? '[]\n' : ']\n' };
  for (const message of weak.messages()) yield { message };
}

/** Those whose secret is easy to guess, in one message: there may be a million. */
class WeakClients {
  #count = 0;
  #first: readonly string[] = [];

  add({ weak }: ListedPage): void {
    this.#count += weak.length;
    this.#first = [...this.#first, ...weak.slice(0, WEAK_NAMED_MAX)].slice(0, WEAK_NAMED_MAX);
  }

  messages(): readonly string[] {
    if (this.#count === 0) return [];
    const ids = this.#first.map((id) => shortened(id, CELL_MAX)).join(', ');
    const more = this.#count > this.#first.length ? `, and ${this.#count - this.#first.length} more` : '';
    const weak = `a secret that no program generated, of a BCrypt cost below ${CHOSEN_SECRET_COST}`;
    return [`With ${weak}: ${ids}${more}. Give them new ones with rotate.`];
  }
}

function isSelection({ prefix, after, limit, state, unusedFor }: Options): boolean {
  return prefix !== '' || [after, limit, state, unusedFor].some((option) => option !== undefined);
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999999999.');
}
