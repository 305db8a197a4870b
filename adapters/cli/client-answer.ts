import Table from 'cli-table3';
import type { ManagedClient } from '../../application/clients/managed-client.ts';
import { MEMBER_NAMES, type RegistrationProblem } from '../../domain/client-registration.ts';
import { type Success, success } from '../../domain/result.ts';
import type { Answer } from './outcome.ts';
import { printable } from './printable.ts';

const COLUMNS = ['id', 'client_id', 'client_name', 'scope', 'state', 'bcrypt_cost'] as const;

/** Rows of a list under one heading. The library cannot lay out a hundred thousand at once, and the heading would be far away. */
const ROWS_OF_A_TABLE = 1_000;

/** A client as `--json` prints it. */
export function documentOf({ id, clientId, clientName, scope, state, bcryptCost, problem }: ManagedClient) {
  return {
    id,
    client_id: clientId,
    client_name: clientName,
    scope,
    state,
    bcrypt_cost: bcryptCost,
    problem: problem && describeProblem(problem),
  };
}

/** A problem under the external name of its field, such as `client_name must not be empty`. */
export function describeProblem({ field, rule }: RegistrationProblem): string {
  return `${MEMBER_NAMES[field]} ${rule}`;
}

/**
 * One client, with a warning if the service refuses it.
 *
 * @param secret a generated secret, to show once.
 */
export function clientAnswer(client: ManagedClient, messages: readonly string[], secret?: string): Success<Answer> {
  const { id, client_id, ...rest } = documentOf(client);
  const document = { id, client_id, ...(secret !== undefined && { client_secret: secret }), ...rest };
  const warnings = rest.problem === null ? [] : [`The service refuses this client: ${rest.problem}.`];
  return success(answerOf(document, [...messages, ...warnings]));
}

/** An object, or a table with a line for each of its members that is not null. */
export function answerOf(document: object, messages: readonly string[]): Answer {
  return { document, text: () => tableOf(document), messages };
}

function tableOf(document: object): string {
  const table = new Table({ style: { head: [], border: [] } });
  for (const [member, value] of Object.entries(document)) {
    if (value !== null) table.push([member, printable(String(value))]);
  }
  return table.toString();
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
