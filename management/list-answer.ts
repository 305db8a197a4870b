import Table from 'cli-table3';
import type { ClientView } from './client-view.ts';
import type { Answer } from './outcome.ts';
import { printable } from './printable.ts';

const COLUMNS = ['id', 'client_id', 'client_name', 'scope', 'state', 'bcrypt_cost'] as const;

/** Rows below one heading: the library cannot lay out a hundred thousand at once, and nobody scrolls up so far. */
const ROWS_OF_A_TABLE = 1_000;

/** All clients: a table with a row for each, or an array. What is wrong with a row is said beside the table. */
export function listAnswer(clients: readonly ClientView[]): Answer {
  return {
    document: clients,
    text: () => tablesOf(clients).join('\n'),
    messages: clients.length === 0 ? ['No client is registered.'] : clients.flatMap(problemOf),
  };
}

function tablesOf(clients: readonly ClientView[]): readonly string[] {
  const tables: string[] = [];
  for (let start = 0; start < clients.length; start += ROWS_OF_A_TABLE) {
    const table = new Table({ head: [...COLUMNS], style: { head: [], border: [] } });
    for (const client of clients.slice(start, start + ROWS_OF_A_TABLE)) table.push(rowOf(client));
    tables.push(table.toString());
  }
  return tables;
}

function rowOf(client: ClientView): string[] {
  return COLUMNS.map((column) => printable(String(client[column] ?? '')));
}

function problemOf({ id, client_id, problem }: ClientView): readonly string[] {
  return problem === null ? [] : [`Row ${id}, client ${client_id}: ${problem}; it gets no token.`];
}
