import Table from 'cli-table3';
import type { ManagedClient } from '../../application/clients/managed-client.ts';
import { success } from '../../domain/result.ts';
import { documentOf } from './client-answer.ts';
import { type CommandDefinition, JSON_OPTION, PROGRAM_NAME } from './define-command.ts';
import type { Answer } from './outcome.ts';
import { printable } from './printable.ts';
import { type OpenClients, withClients } from './with-clients.ts';

const COLUMNS = ['id', 'client_id', 'client_name', 'scope', 'state', 'bcrypt_cost'] as const;

/** Rows under one heading. The library cannot lay out a hundred thousand at once, and the heading would be far away. */
const ROWS_OF_A_TABLE = 1_000;

/** `list`: every client, including broken ones. */
export function listCommand(open: OpenClients): CommandDefinition {
  return {
    usage: 'list',
    summary: 'show every client',
    description: 'Shows every client by its id, and what is wrong with those that the service refuses. Never a hash.',
    examples: [`${PROGRAM_NAME} list`, `npm run --silent clients -- list --json | jq -r '.[].client_id'`],
    options: [JSON_OPTION],
    run: () => withClients(open, async ({ listClients }) => success(listAnswer(await listClients.execute()))),
  };
}

/** All clients: tables with a row for each, or an array. Problems are messages, not part of the table. */
export function listAnswer(clients: readonly ManagedClient[]): Answer {
  const documents = clients.map(documentOf);
  return {
    document: documents,
    text: () => tablesOf(documents).join('\n'),
    messages: clients.length === 0 ? ['No client is registered.'] : documents.flatMap(problemOf),
  };
}

type Row = ReturnType<typeof documentOf>;

function tablesOf(clients: readonly Row[]): readonly string[] {
  const tables: string[] = [];
  for (let start = 0; start < clients.length; start += ROWS_OF_A_TABLE) {
    const table = new Table({ head: [...COLUMNS], style: { head: [], border: [] } });
    for (const client of clients.slice(start, start + ROWS_OF_A_TABLE)) {
      table.push(COLUMNS.map((column) => printable(String(client[column] ?? ''))));
    }
    tables.push(table.toString());
  }
  return tables;
}

function problemOf({ id, client_id, problem }: Row): readonly string[] {
  return problem === null ? [] : [`Row ${id}, client ${client_id}: ${problem}; it gets no token.`];
}
