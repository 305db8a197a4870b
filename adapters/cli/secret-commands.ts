import { Option } from 'commander';
import type { ClientWithSecret } from '../../application/clients/rotate-secret.ts';
import type { SecretEncoder } from '../../application/ports/secret-encoder.ts';
import { type Result, type Success, success } from '../../domain/result.ts';
import { clientAnswer, describeProblem } from './client-answer.ts';
import { unknownClient } from './client-commands.ts';
import { COST_OPTION, type CommandDefinition, type CostOptions, JSON_OPTION, PROGRAM_NAME } from './define-command.ts';
import { type Answer, EXIT, type Problem, problem } from './outcome.ts';
import { type Input, readSecret, SHORT_SECRET_OPTION, type ShortSecretOptions } from './read-secret.ts';
import { type OpenClients, withClients } from './with-clients.ts';

interface SecretOptions extends CostOptions, ShortSecretOptions {
  readonly secretStdin?: true;
}

interface AddOptions extends SecretOptions {
  readonly name: string;
  readonly scope: string;
}

const SECRET_OPTIONS = [
  new Option('--secret-stdin', 'read the secret from standard input instead of generating one'),
  SHORT_SECRET_OPTION,
  COST_OPTION,
  JSON_OPTION,
];

/** `add [client-id]`: registers a client, and shows its secret once. */
export function addCommand(open: OpenClients, stdin: Input): CommandDefinition<AddOptions> {
  return {
    usage: 'add [client-id]',
    summary: 'register a client, and show its secret once',
    description:
      'Registers a client. Without an id it gets a random one, and without --secret-stdin a secret of 256 bits.',
    examples: [
      `${PROGRAM_NAME} add billing --name 'Billing' --scope 'read write'`,
      `${PROGRAM_NAME} add --name 'Nightly report' --scope read --json`,
      `${PROGRAM_NAME} add billing --name 'Billing' --scope read --secret-stdin < secret.txt`,
    ],
    options: [
      new Option('--name <name>', 'name of the client, for people').makeOptionMandatory(),
      new Option('--scope <scopes>', 'scopes that it may request, separated by single spaces').makeOptionMandatory(),
      ...SECRET_OPTIONS,
    ],
    async run({ name: clientName, scope, ...options }, clientId) {
      const secret = await givenSecret(options, stdin);
      if (!secret.ok) return secret;
      return withClients(open, async ({ addClient }) => {
        const request = { clientId, clientName, scope, secret: secret.value, cost: options.cost };
        const added = await addClient.execute(request);
        if (added.ok) {
          return secretAnswer(added.value, `Client ${added.value.client.clientId} is added.`, options);
        }
        return added.problem === 'client_id_taken'
          ? problem(EXIT.refused, `The client id ${clientId} is taken; nothing was changed.`)
          : problem(EXIT.usage, `${describeProblem(added.problem)}.`);
      });
    },
  };
}

/** `rotate <client-id>`: replaces the secret of a client. */
export function rotateCommand(open: OpenClients, stdin: Input): CommandDefinition<SecretOptions> {
  return {
    usage: 'rotate <client-id>',
    summary: 'give a client a new secret, and show it once',
    description:
      'Gives a client a new secret. The old one is refused from the next request on; a disabled client stays disabled.',
    examples: [`${PROGRAM_NAME} rotate billing`, `${PROGRAM_NAME} rotate billing --secret-stdin < secret.txt`],
    options: SECRET_OPTIONS,
    async run(options, clientId = '') {
      const secret = await givenSecret(options, stdin);
      if (!secret.ok) return secret;
      return withClients(open, async ({ rotateSecret }) => {
        const rotated = await rotateSecret.execute(clientId, { secret: secret.value, cost: options.cost });
        if (!rotated.ok) return unknownClient(clientId);
        const stillDisabled = rotated.value.client.state === 'disabled' ? ' It stays disabled.' : '';
        return secretAnswer(rotated.value, `Client ${clientId} has a new secret.${stillDisabled}`, options);
      });
    },
  };
}

/** `hash`: prints the BCrypt encoding of a secret, for a clients file or another program. */
export function hashCommand(encoder: SecretEncoder, stdin: Input): CommandDefinition<CostOptions & ShortSecretOptions> {
  return {
    usage: 'hash',
    summary: 'print the BCrypt encoding of a secret from standard input',
    description:
      'Prints the BCrypt encoding of the secret on standard input, as a clients file contains it. Needs no database.',
    examples: [`${PROGRAM_NAME} hash < secret.txt`, `npm run --silent clients -- hash --cost 12 < secret.txt`],
    options: [COST_OPTION, SHORT_SECRET_OPTION],
    async run({ cost, ...options }) {
      const secret = await readSecret(stdin, options);
      if (!secret.ok) return secret;
      const encoded = await encoder.encode(secret.value, cost);
      return success({ document: encoded, text: () => encoded, messages: [] });
    },
  };
}

/** The secret on standard input if the command line says so; undefined for a generated one. */
async function givenSecret(
  { secretStdin, ...options }: SecretOptions,
  stdin: Input,
): Promise<Result<string | undefined, Problem>> {
  return secretStdin ? readSecret(stdin, options) : success(undefined);
}

/** A client with its generated secret. A secret from standard input is known already, and not shown. */
function secretAnswer(
  { client, secret }: ClientWithSecret,
  message: string,
  { secretStdin }: SecretOptions,
): Success<Answer> {
  if (secretStdin) return clientAnswer(client, [message]);
  const once = 'The secret is shown only this once: the table stores only its BCrypt hash.';
  return clientAnswer(client, [message, once], secret);
}
