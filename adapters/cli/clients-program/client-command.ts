import type { AddClientProblem } from '../../../application/clients-program/add-client.ts';
import type { ChangeProblem, ChangeRequest } from '../../../application/clients-program/change-client.ts';
import type { ClientManagement } from '../../../application/clients-program/client-management.ts';
import type { DetailsProblem } from '../../../domain/client-details.ts';
import { describeProblem } from '../../../domain/client-registration.ts';
import type { Failure } from '../../../domain/result.ts';
import { type CommandDefinition, JSON_OPTION } from '../command-program.ts';
import { EXIT, type Outcome, type Problem, problem } from '../outcome.ts';
import type { AnswerOptions } from '../terminal.ts';
import { type OpenStorage, withStorage } from '../with-storage.ts';
import { clientAnswer } from './client-answer.ts';

/** How users call the program; the start of every example. */
export const PROGRAM_NAME = 'npm run clients --';

/** The use cases of the commands, on a store that is open. */
export interface ClientUseCases extends ClientManagement {
  close(): Promise<void>;
}

export type OpenClients = OpenStorage<ClientUseCases>;

/** A command on one client. The second argument, if there is one, names an entry of it, such as a secret or a key. */
export interface ClientCommand<Options extends AnswerOptions = AnswerOptions> extends Omit<CommandDefinition, 'run'> {
  run(clients: ClientUseCases, options: Options, clientId: string, entry: string | undefined): Promise<Outcome>;
}

/** The commands, with a store that is open while they run. */
export function clientCommands<Options extends AnswerOptions>(
  open: OpenClients,
  commands: readonly ClientCommand<Options>[],
): readonly CommandDefinition<Options>[] {
  return commands.map(({ run, options, ...help }) => ({
    ...help,
    options: [...options, JSON_OPTION],
    run: (given, clientId = '', entry) => withStorage(open, (clients) => run(clients, given, clientId, entry)),
  }));
}

/** Changes what a client has, and shows it. `said` of the client afterwards. */
export async function changed(
  clients: ClientUseCases,
  clientId: string,
  request: ChangeRequest,
  said: string,
): Promise<Outcome> {
  const result = await clients.changeClient.execute(clientId, request);
  if (result.ok) return clientAnswer(result.value, [`Client ${clientId} ${said}.`]);
  const { problem: reason } = result;
  return typeof reason === 'object' && 'kind' in reason
    ? problem(EXIT.refused, `${describeDetailsProblem(reason)} Nothing was changed.`)
    : refusal(clients, reason, clientId);
}

const REFUSALS: Readonly<Record<Extract<AddClientProblem | ChangeProblem, string>, (clientId: string) => string>> = {
  client_unknown: (clientId) => `No client has the id ${clientId}.`,
  client_id_taken: (clientId) => `The client id ${clientId} is taken; nothing was changed.`,
  entry_unknown: (clientId) => `Client ${clientId} has no such entry; show prints those that it has.`,
  hash_missing: (clientId) =>
    `Client ${clientId} is locked without a hash behind the lock: give it a new secret with rotate first.`,
  secret_missing: (clientId) => `Client ${clientId} has no valid secret to replace. To give it one, use secrets add.`,
  secret_without_id: (clientId) =>
    `The secret of client ${clientId} has no id, so it cannot expire. Use secrets add, change the client, and then secrets remove --without-id.`,
  too_many_secrets: (clientId) =>
    `Client ${clientId} has two valid secrets already. Remove one with secrets remove first.`,
};

/** The refusal of a use case in words. Details and fields that break a rule were given on the command line. */
export async function refusal(
  { similarId }: ClientUseCases,
  reason: AddClientProblem | ChangeProblem,
  clientId: string,
): Promise<Failure<Problem>> {
  if (typeof reason === 'string') {
    const similar = reason === 'client_unknown' ? await similarId(clientId) : undefined;
    const hints = similar === undefined ? [] : [`Did you mean ${similar}?`];
    return problem(EXIT.refused, REFUSALS[reason](clientId), ...hints);
  }
  return problem(EXIT.usage, 'kind' in reason ? describeDetailsProblem(reason) : `${describeProblem(reason)}.`);
}

const NAMES = { secrets: 'secret', keys: 'key', subjects: 'federated subject', resources: 'resource' } as const;

/** Which rule the details break, without a value. */
function describeDetailsProblem({ kind, position, rule }: DetailsProblem): string {
  return position === undefined ? `The number of ${NAMES[kind]}s ${rule}.` : `The ${NAMES[kind]} ${rule}.`;
}
