import Table from 'cli-table3';
import type { ClientView } from './client-view.ts';
import type { Answer } from './outcome.ts';
import { printable } from './printable.ts';

const COLUMNS = ['id', 'client_id', 'client_name', 'scope', 'state', 'bcrypt_cost'] as const;

/** All clients: a table with a row for each, or an array. What is wrong with a row is said below the table. */
export function listAnswer(clients: readonly ClientView[]): Answer {
  const table = new Table({ head: [...COLUMNS], style: { head: [], border: [] } });
  for (const client of clients) table.push(COLUMNS.map((column) => printable(String(client[column] ?? ''))));
  return {
    document: clients,
    text: clients.length === 0 ? '' : table.toString(),
    messages: clients.length === 0 ? ['No client is registered.'] : clients.flatMap(problemOf),
  };
}

function problemOf({ id, client_id, problem }: ClientView): readonly string[] {
  return problem === null ? [] : [`Row ${id}, client ${client_id}: ${problem}; it gets no token.`];
}
