import Table from 'cli-table3';
import type { ManagedClient } from '../../application/clients/managed-client.ts';
import { MEMBER_NAMES, type RegistrationProblem } from '../../domain/client-registration.ts';
import { type Success, success } from '../../domain/result.ts';
import type { Answer } from './outcome.ts';
import { printable } from './printable.ts';

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
