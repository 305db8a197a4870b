import type { AddClientProblem } from '../../../application/clients-program/add-client.ts';
import type { ChangeProblem, ChangeRequest } from '../../../application/clients-program/change-client.ts';
import type { ClientManagement } from '../../../application/clients-program/client-management.ts';
import { describeDetailsProblem } from '../../../domain/client-details.ts';
import { describeProblem } from '../../../domain/client-registration.ts';
import type { Result } from '../../../domain/result.ts';
import { type CommandDefinition, JSON_OPTION } from '../command-program.ts';
import { EXIT, type Output, Problem } from '../outcome.ts';
import type { OutputOptions } from '../terminal.ts';
import { type OpenStorage, withStorage } from '../with-storage.ts';
import { clientOutput, warningOfOwner } from './client-output.ts';

/** How users call the program; the start of every example. */
export const PROGRAM_NAME = 'npm run clients --';

/** The use cases of the commands, on a store that is open. */
export interface ClientUseCases extends ClientManagement {
  close(): Promise<void>;
}

export type OpenClients = OpenStorage<ClientUseCases>;

/** A command on one client. The second argument, if there is one, names an entry of it, such as a secret or a key. */
export interface ClientCommand<Options extends OutputOptions = OutputOptions> extends Omit<CommandDefinition, 'run'> {
  run(clients: ClientUseCases, options: Options, clientId: string, entry: string | undefined): Promise<Output>;
}

/** The commands, with a store that is open while they run. */
export function clientCommands<Options extends OutputOptions>(
  open: OpenClients,
  commands: readonly ClientCommand<Options>[],
): readonly CommandDefinition<Options>[] {
  return commands.map(({ run, options, ...help }) => ({
    ...help,
    options: [...options, JSON_OPTION],
    run: (given, clientId = '', entry) => withStorage(open, (clients) => run(clients, given, clientId, entry)),
  }));
}

/** Adds or removes entries of a client, and shows it. `said` of the client afterwards. */
export async function changed(
  clients: ClientUseCases,
  clientId: string,
  request: ChangeRequest,
  said: string,
): Promise<Output> {
  const result = await clients.changeClient(clientId, request);
  if (!result.ok && typeof result.problem === 'object' && 'kind' in result.problem) {
    throw new Problem(EXIT.refused, `${describeDetailsProblem(result.problem)} Client ${clientId} is not changed.`);
  }
  const client = await accepted(clients, clientId, result);
  return clientOutput(client, [`Client ${clientId} ${said}.`, ...warningOfOwner(client.credentials)]);
}

const REFUSALS: Readonly<Record<Extract<AddClientProblem | ChangeProblem, string>, (clientId: string) => string>> = {
  client_unknown: (clientId) => `No client has the id ${clientId}.`,
  client_id_taken: (clientId) => `The client id ${clientId} is taken; nothing was changed.`,
  secret_unknown: (clientId) => `Client ${clientId} has no such secret; secrets list shows those that it has.`,
  details_unreadable: (clientId) =>
    `The details of client ${clientId} cannot be read; show says why. Nothing was changed.`,
  entry_unknown: (clientId) => `Client ${clientId} has no such entry; show prints those that it has.`,
  hash_missing: (clientId) =>
    `Client ${clientId} is locked without a hash behind the lock: give it a new secret with rotate first.`,
  secret_missing: (clientId) => `Client ${clientId} has no valid secret to replace. To give it one, use secrets add.`,
  too_many_secrets: (clientId) =>
    `Client ${clientId} has two valid secrets already. Remove one with secrets remove first.`,
};

type Outcome<Value> = Result<Value, AddClientProblem | ChangeProblem>;

/** What a use case returns. Throws its refusal in words. Details and fields that break a rule were given on the command line. */
export async function accepted<Value>(
  { similarId }: ClientUseCases,
  clientId: string,
  answer: Outcome<Value> | Promise<Outcome<Value>>,
): Promise<Value> {
  const result = await answer;
  if (result.ok) return result.value;
  const { problem } = result;
  if (typeof problem === 'string') {
    const similar = problem === 'client_unknown' ? await similarId(clientId) : undefined;
    const hints = similar === undefined ? [] : [`Did you mean ${similar}?`];
    throw new Problem(EXIT.refused, REFUSALS[problem](clientId), ...hints);
  }
  throw new Problem(EXIT.usage, 'kind' in problem ? describeDetailsProblem(problem) : `${describeProblem(problem)}.`);
}
