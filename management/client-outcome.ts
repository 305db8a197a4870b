import type { ClientRecord } from '../adapters/postgres/client-record.ts';
import { success } from '../domain/result.ts';
import { clientAnswer, type Secret } from './client-answer.ts';
import { viewsOf } from './client-view.ts';
import { EXIT } from './exit-code.ts';
import { type Outcome, problem } from './outcome.ts';

/**
 * What comes of a command on one client: the client as its rows say, with what else there is to say, or that no row has
 * this id. A row that the service will not accept is said to be so.
 */
export function clientOutcome(
  clientId: string,
  records: readonly ClientRecord[],
  { client_secret, messages }: Secret & { readonly messages: readonly string[] },
): Outcome {
  const [client] = viewsOf(records);
  if (client === undefined) return problem(EXIT.refused, `No client has the id ${clientId}.`);
  const warnings = client.problem === null ? [] : [`The service refuses this client: ${client.problem}.`];
  const shown = client_secret === undefined ? client : { ...client, client_secret };
  return success(clientAnswer(shown, ...messages, ...warnings));
}
