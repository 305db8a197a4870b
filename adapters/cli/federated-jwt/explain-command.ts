import { Option } from 'commander';
import {
  ASSERTION_TYPES,
  type AssertionCredentials,
  type AssertionType,
} from '../../../application/ports/client-credentials.ts';
import { MEANINGS } from '../../../application/refusal-meanings.ts';
import type { ClientRegistration } from '../../../domain/client-registration.ts';
import type { Refusal } from '../../../domain/refusal.ts';
import type { Result } from '../../../domain/result.ts';
import { type CommandDefinition, JSON_OPTION } from '../command-program.ts';
import { EXIT, type Output, Problem } from '../outcome.ts';
import { type Input, readUpTo } from '../read-secret.ts';
import { type OpenStorage, whenUsed } from '../storage-fault.ts';
import type { OutputOptions } from '../terminal.ts';

/** Bytes. The service refuses longer assertions too. */
const ASSERTION_MAX = 16 * 1024;

export const FEDERATED_ONLY =
  'explain is only about assertions of other issuers (federated_jwt). The log says why one of private_key_jwt is refused: docs/reasons.md.';

/** What the service says to an assertion, opened from its settings. */
export interface OpenExplanation {
  execute(credentials: AssertionCredentials): Promise<Result<ClientRegistration, Refusal>>;
  close(): Promise<void>;
}

export interface ExplainOptions extends OutputOptions {
  readonly clientId?: string;
  readonly type: AssertionType;
}

/**
 * `explain`: says what the service says to an assertion on standard input, and why.
 *
 * @param program how users call the program that has this command.
 */
export function explainCommand(
  open: OpenStorage<OpenExplanation>,
  program: string,
  stdin: Input,
): CommandDefinition<unknown, ExplainOptions> {
  return {
    usage: 'explain',
    summary: 'say why an assertion does or does not authenticate a client',
    description:
      "Reads an assertion of another issuer (federated_jwt) from standard input and has it verified as the service does, with the service's settings. Stores nothing and prints no signature.",
    examples: [
      `${program} explain < token.txt`,
      `kubectl create token billing --audience https://auth.example | npm run --silent clients -- explain --client-id billing`,
    ],
    options: [
      new Option('--client-id <id>', 'the client_id that the request has, if any'),
      new Option('--type <type>', 'the last part of client_assertion_type')
        .choices(ASSERTION_TYPES)
        .default('jwt-bearer'),
      JSON_OPTION,
    ],
    async *run(_parts, { clientId, type }) {
      const assertion = await readAssertion(stdin);
      const service = whenUsed(open);
      try {
        yield outputOf(await (await service.open()).execute({ assertion, type, clientId }));
      } finally {
        await service.close();
      }
    },
  };
}

async function readAssertion(stdin: Input): Promise<string> {
  const bytes = await readUpTo(stdin, ASSERTION_MAX + 1);
  if (bytes.length > ASSERTION_MAX)
    throw new Problem(EXIT.refused, `The assertion has more than ${ASSERTION_MAX} bytes.`);
  const text = bytes.toString('latin1').trim();
  if (text === '') throw new Problem(EXIT.usage, 'There is no assertion on standard input.');
  return text;
}

/** A refusal does not have the exit code 0: it has what the look-up by request id shows of it. */
function outputOf(verdict: Result<ClientRegistration, Refusal>): Output {
  if (verdict.ok) {
    const { clientId } = verdict.value;
    const messages = [`The service accepts it for client ${clientId}.`];
    return { document: { accepted: true, client_id: clientId }, text: () => '', messages };
  }
  const { reason, clientId, shown, detail } = verdict.problem;
  throw new Problem(
    EXIT.refused,
    `The service refuses it: ${reason}${clientId === undefined ? '' : ` (client ${clientId})`}.`,
    ...(shown === undefined ? [] : [`Expected, or wrong: ${shown}.`]),
    ...(detail === undefined ? [] : [`Detail: ${detail}.`]),
    MEANINGS[reason],
    ...(reason === 'assertion_issuer_untrusted' ? [FEDERATED_ONLY] : []),
  );
}
