import type { ListedClient } from '../../application/clients/list-clients.ts';
import type { ManagedClient } from '../../application/clients/managed-client.ts';
import { MEMBER_NAMES, type RegistrationProblem } from '../../domain/client-registration.ts';
import { type Success, success } from '../../domain/result.ts';
import type { Answer } from './outcome.ts';
import { printable, shortened } from './printable.ts';
import { textTable } from './text-table.ts';

const COLUMNS = ['id', 'client_id', 'client_name', 'scope', 'state', 'bcrypt_cost', 'authentication_methods'] as const;

/** The longest value that a table for people shows, in characters. `--json` shows more. */
const CELL_MAX = 200;
const SINGLE_VALUE_MAX = 2_000;

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
  const rows = Object.entries(document)
    .filter(([, value]) => value !== null)
    .map(([member, value]) => [member, printable(shortened(String(value), SINGLE_VALUE_MAX))]);
  return textTable(rows, { heading: false });
}

/** A client of a list as `--json` prints it. */
export function listedDocumentOf({ methods, ...client }: ListedClient) {
  return { ...documentOf(client), authentication_methods: methods };
}

/** A page of a list: a table with a heading. */
export function pageOf(clients: readonly ListedClient[]): string {
  const rows = clients
    .map((client) => ({ ...documentOf(client), authentication_methods: client.methods.join(', ') }))
    .map((client) => COLUMNS.map((column) => printable(shortened(String(client[column] ?? ''), CELL_MAX))));
  return `${textTable([COLUMNS, ...rows], { heading: true })}\n`;
}

/** What is wrong with clients of a list, which is not part of its table: a line for each. */
export function problemsOf(clients: readonly ManagedClient[]): readonly string[] {
  return clients.flatMap(({ id, clientId, problem }) =>
    problem === null
      ? []
      : [`Row ${id}, client ${shortened(clientId, CELL_MAX)}: ${describeProblem(problem)}; it gets no token.`],
  );
}
