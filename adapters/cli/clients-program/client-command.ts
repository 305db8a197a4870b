import type { AddClientProblem } from '../../../application/clients-program/add-client.ts';
import type { ChangeProblem, ChangeRequest } from '../../../application/clients-program/change-client.ts';
import type { ClientManagement } from '../../../application/clients-program/client-management.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { EncodeSecret } from '../../../application/ports/new-secrets.ts';
import { describeProblem, type NewClient } from '../../../domain/client-registration.ts';
import { describeDetailsProblem } from '../../../domain/details-rules.ts';
import type { Result } from '../../../domain/result.ts';
import type { CommandDefinition } from '../command-program.ts';
import { EXIT, type Output, Problem } from '../outcome.ts';
import type { Input, ShortSecretOptions } from '../read-secret.ts';
import type { Closable } from '../storage-fault.ts';
import type { OutputOptions, Terminal } from '../terminal.ts';
import { clientOutput, warningOfOwner } from './client-output.ts';
import type { ReadClientsFile } from './clients-source.ts';

/** How users call the program; the start of every example. */
export const PROGRAM_NAME = 'npm run clients --';

/** The use cases of the commands, on a store that is open. */
export interface ClientUseCases extends ClientManagement, Closable {}

/** Writes an entry of a clients file, or says why an import would refuse it. */
export type FormatClient = (client: NewClient) => Result<string, readonly string[]>;

/** Which secrets a file may refer to; undefined: all. */
export type OpenApplied = (
  allowed: { readonly folders: readonly string[]; readonly variables: readonly string[] } | undefined,
  options: ShortSecretOptions,
) => ReadClientsFile;

/** What the commands need. */
export interface ClientsParts extends Closable {
  /** Called by the commands that need stored clients. */
  open(): Promise<ClientUseCases>;
  readonly stdin: Input;
  readonly terminal: Terminal;
  readonly encodeSecret: EncodeSecret;
  readonly clock: Clock;
  readonly readClientsFile: ReadClientsFile;
  readonly openApplied: OpenApplied;
  readonly formatClient: FormatClient;
}

/** A command. Its arguments are the id of a client, and an entry of it, such as a secret, if it takes them. */
export type ClientCommand<Options extends OutputOptions = OutputOptions> = CommandDefinition<ClientsParts, Options>;

/** Adds or removes entries of a client, and shows it. `said` of the client afterwards. */
export async function changed(
  clients: ClientUseCases,
  clientId: string,
  request: ChangeRequest,
  said: string,
): Promise<Output> {
  const result = await clients.changeClient(clientId, request);
  if (!result.ok && typeof result.problem === 'object' && 'kind' in result.problem) {
    throw new Problem(EXIT.refused, `${describeDetailsProblem(result.problem)}. Client ${clientId} is not changed.`);
  }
  const { client } = await accepted(clientId, result);
  return clientOutput({ client }, [`Client ${clientId} ${said}.`, ...warningOfOwner(client)]);
}

const REFUSALS: Readonly<Record<Extract<AddClientProblem | ChangeProblem, string>, (clientId: string) => string>> = {
  client_unknown: (clientId) => `No client has the id ${clientId}.`,
  revocation_unknown: () =>
    'This database keeps no revoked tokens: npm run migrate creates the table, which a service with TOKEN_REVOCATION=true reads.',
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

/** What a use case returns. Throws its refusal in words; what breaks a rule was given on the command line. */
export async function accepted<Value>(
  clientId: string,
  answer: Outcome<Value> | Promise<Outcome<Value>>,
): Promise<Value> {
  const result = await answer;
  if (result.ok) return result.value;
  const { problem } = result;
  if (typeof problem === 'string') throw new Problem(EXIT.refused, REFUSALS[problem](clientId));
  throw new Problem(EXIT.usage, `${'kind' in problem ? describeDetailsProblem(problem) : describeProblem(problem)}.`);
}
