import Table from 'cli-table3';
import type { ClientView } from './client-view.ts';
import type { Answer } from './outcome.ts';
import { printable } from './printable.ts';

/** A secret that was made for this client, to be shown this once. */
export interface Secret {
  readonly client_secret?: string;
}

/** One client: a table with a line for each member, or an object. */
export function clientAnswer(
  client: Omit<ClientView, 'state'> & { readonly state: ClientView['state'] | 'removed' } & Secret,
  ...messages: readonly string[]
): Answer {
  const { id, client_id, client_secret, ...rest } = client;
  const document = { id, client_id, ...(client_secret !== undefined && { client_secret }), ...rest };
  return { document, text: () => tableOf(document), messages };
}

function tableOf(document: object): string {
  const table = new Table({ style: { head: [], border: [] } });
  for (const [member, value] of Object.entries(document)) {
    if (value !== null) table.push([member, printable(String(value))]);
  }
  return table.toString();
}
