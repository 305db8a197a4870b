import type { AddClientProblem, AddedClient, NewClientRequest } from '../../application/clients/add-client.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { type Failure, type Result, type Success, success } from '../../domain/result.ts';
import { ADD_OPTIONS, type AddOptions, misusedOption } from './add-options.ts';
import { clientAnswer, describeProblem } from './client-answer.ts';
import { credentialsAnswer } from './credentials-answer.ts';
import { type CommandDefinition, PROGRAM_NAME } from './define-command.ts';
import { describeDetailsProblem, subjectOf } from './detail-options.ts';
import { expiryOf } from './expiry-options.ts';
import { type Answer, EXIT, type Problem, problem } from './outcome.ts';
import { readJwks } from './read-jwks.ts';
import type { Input } from './read-secret.ts';
import { givenSecret, SHOWN_ONCE } from './secret-options.ts';
import { type OpenClients, withClients } from './with-clients.ts';

/** `add [client-id]`: registers a client for one authentication method, and shows its secret once if it has one. */
export function addCommand(open: OpenClients, stdin: Input, clock: Clock): CommandDefinition<AddOptions> {
  return {
    usage: 'add [client-id]',
    summary: 'register a client, and show its secret once',
    description:
      'Registers a client. Without an id it gets a random one, and without --secret-stdin a secret of 256 bits. With a method other than a secret it gets no secret; the service must have the method in CLIENT_AUTHENTICATION_METHODS.',
    examples: [
      `${PROGRAM_NAME} add billing --name 'Billing' --scope 'read write'`,
      `${PROGRAM_NAME} add --name 'Nightly report' --scope read --json`,
      `${PROGRAM_NAME} add billing --name 'Billing' --scope read --secret-stdin < secret.txt`,
      `${PROGRAM_NAME} add billing --name 'Billing' --scope read --expires-in 90d`,
      `${PROGRAM_NAME} add billing --name 'Billing' --scope read --method private_key_jwt --jwks keys.json`,
      `${PROGRAM_NAME} add billing --name 'Billing' --scope read --method federated_jwt --issuer https://issuer.example --subject billing`,
    ],
    options: ADD_OPTIONS,
    async run(options, clientId) {
      const request = await requestOf(options, stdin, clock);
      if (!request.ok) return request;
      return withClients(open, async ({ addClient }) => {
        const added = await addClient.execute({ clientId, ...request.value });
        return added.ok ? answerFor(added.value, options) : refusal(added.problem, clientId);
      });
    },
  };
}

async function requestOf(
  options: AddOptions,
  stdin: Input,
  clock: Clock,
): Promise<Result<Omit<NewClientRequest, 'clientId'>, Problem>> {
  const { name: clientName, scope, method, cost, resource: resources } = options;
  const misused = misusedOption(options);
  if (misused !== undefined) return problem(EXIT.usage, misused);
  const expiresAt = expiryOf(options, clock);
  if (!expiresAt.ok) return expiresAt;
  const client = { clientName, scope };
  if (method === 'private_key_jwt') {
    const keys = await readJwks(options.jwks ?? '', expiresAt.value);
    return keys.ok ? success({ ...client, secret: undefined, details: { keys: keys.value, resources } }) : keys;
  }
  if (method === 'federated_jwt') {
    const subject = subjectOf(options);
    return success({ ...client, secret: undefined, details: { subjects: [subject], resources } });
  }
  if (expiresAt.value !== undefined) {
    const secret = { name: undefined, expiresAt: expiresAt.value, cost };
    return success({ ...client, secret, details: { resources } });
  }
  const secret = await givenSecret(options, stdin);
  return secret.ok ? success({ ...client, secret: { secret: secret.value, cost }, details: { resources } }) : secret;
}

function answerFor(added: AddedClient, { secretStdin }: AddOptions): Success<Answer> {
  const { client, credentials, secret } = added;
  const messages = [`Client ${client.clientId} is added.`];
  const { secrets, keys, subjects, resources } = credentials;
  const isPlain =
    keys.length + subjects.length + resources.length === 0 && secrets.every(({ secretId }) => secretId === null);
  const shown = secretStdin ? undefined : secret;
  if (shown !== undefined) messages.push(SHOWN_ONCE);
  return isPlain ? clientAnswer(client, messages, shown) : credentialsAnswer(added, messages, shown);
}

function refusal(problem_: AddClientProblem, clientId: string | undefined): Failure<Problem> {
  if (problem_ === 'client_id_taken') {
    return problem(EXIT.refused, `The client id ${clientId} is taken; nothing was changed.`);
  }
  return problem(EXIT.usage, 'kind' in problem_ ? describeDetailsProblem(problem_) : `${describeProblem(problem_)}.`);
}
