import { Option } from 'commander';
import type { RotateSecretProblem } from '../../application/clients/rotate-secret.ts';
import type { SecretEncoder } from '../../application/ports/secret-encoder.ts';
import { type Failure, success } from '../../domain/result.ts';
import { clientAnswer } from './client-answer.ts';
import { unknownClient } from './client-commands.ts';
import { credentialsAnswer } from './credentials-answer.ts';
import { COST_OPTION, type CommandDefinition, type CostOptions, PROGRAM_NAME } from './define-command.ts';
import { parseDuration } from './expiry-options.ts';
import { EXIT, type Problem, problem } from './outcome.ts';
import { type Input, readSecret, SHORT_SECRET_OPTION, type ShortSecretOptions } from './read-secret.ts';
import { givenSecret, SECRET_OPTIONS, type SecretOptions, SHOWN_ONCE } from './secret-options.ts';
import { type OpenClients, withClients } from './with-clients.ts';

interface RotateOptions extends SecretOptions {
  /** Seconds. */
  readonly keepOldFor?: number;
}

/** `rotate <client-id>`: replaces the secrets of a client. */
export function rotateCommand(open: OpenClients, stdin: Input): CommandDefinition<RotateOptions> {
  return {
    usage: 'rotate <client-id>',
    summary: 'give a client a new secret, and show it once',
    description:
      'Gives a client a new secret. Its old ones are refused from the next request on, or after the time of --keep-old-for; a disabled client stays disabled.',
    examples: [
      `${PROGRAM_NAME} rotate billing`,
      `${PROGRAM_NAME} rotate billing --secret-stdin < secret.txt`,
      `${PROGRAM_NAME} rotate billing --keep-old-for 24h`,
    ],
    options: [
      new Option('--keep-old-for <time>', 'how long the old secret stays valid, such as 24h; it must have an id')
        .argParser(parseDuration)
        .conflicts('secretStdin'),
      ...SECRET_OPTIONS,
    ],
    async run({ keepOldFor: keepOldSeconds, ...options }, clientId = '') {
      const { cost } = options;
      const secret = await givenSecret(options, stdin);
      if (!secret.ok) return secret;
      return withClients(open, async ({ rotateSecret }) => {
        const request = keepOldSeconds === undefined ? { secret: secret.value, cost } : { keepOldSeconds, cost };
        const rotated = await rotateSecret.execute(clientId, request);
        if (!rotated.ok) return refusal(rotated.problem, clientId);
        const stillDisabled = rotated.value.client.state === 'disabled' ? ' It stays disabled.' : '';
        const messages = [`Client ${clientId} has a new secret.${stillDisabled}`];
        if (options.secretStdin) return clientAnswer(rotated.value.client, messages);
        messages.push(SHOWN_ONCE);
        return keepOldSeconds === undefined
          ? clientAnswer(rotated.value.client, messages, rotated.value.secret)
          : credentialsAnswer(rotated.value, messages, rotated.value.secret);
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

function refusal(reason: RotateSecretProblem, clientId: string): Failure<Problem> {
  const texts: Readonly<Record<Exclude<RotateSecretProblem, 'client_unknown'>, string>> = {
    secret_missing: `Client ${clientId} has no valid secret to replace. To give it one, use secrets add.`,
    secret_without_id: `The secret of client ${clientId} has no id, so it cannot expire. Use secrets add, change the client, and then secrets remove --without-id.`,
    too_many_secrets: `Client ${clientId} has two valid secrets already. Remove one with secrets remove first.`,
  };
  return reason === 'client_unknown' ? unknownClient(clientId) : problem(EXIT.refused, texts[reason]);
}
