import { Option } from 'commander';
import type { AssertionExplanation } from '../../../application/federated-jwt/explain-assertion.ts';
import {
  ASSERTION_TYPES,
  type AssertionCredentials,
  type AssertionType,
} from '../../../application/ports/client-credentials.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { type CommandDefinition, JSON_OPTION } from '../command-program.ts';
import { EXIT, type Outcome, type Problem, problem } from '../outcome.ts';
import { printable } from '../printable.ts';
import { type Input, readUpTo } from '../read-secret.ts';
import type { AnswerOptions } from '../terminal.ts';
import { type OpenStorage, withStorage } from '../with-storage.ts';
import { adviceOn, linesOf } from './explanation-text.ts';

/** Bytes. The service refuses longer assertions too. */
const ASSERTION_MAX = 16 * 1024;

/** What the command needs, opened from the settings of the service. */
export interface OpenExplanation {
  execute(credentials: AssertionCredentials): Promise<AssertionExplanation>;
  close(): Promise<void>;
}

/** Opens it, or returns what is wrong with the settings. Throws DependencyUnavailable without the tables. */
type OpenExplain = OpenStorage<OpenExplanation>;

export interface ExplainOptions extends AnswerOptions {
  readonly clientId?: string;
  readonly type: AssertionType;
}

/**
 * `explain`: says what the service would say to an assertion on standard input, and why.
 *
 * @param program how users call the program that has this command.
 */
export function explainCommand(open: OpenExplain, program: string, stdin: Input): CommandDefinition<ExplainOptions> {
  return {
    usage: 'explain',
    summary: 'say why an assertion does or does not authenticate a client',
    description:
      "Reads an assertion of another issuer (federated_jwt) from standard input and checks it as the service does, with the service's settings. Stores nothing and prints no signature.",
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
    async *run({ clientId, type }) {
      const assertion = await readAssertion(stdin);
      if (!assertion.ok) return yield assertion;
      yield* withStorage(open, async (explanation) =>
        outcomeOf(await explanation.execute({ assertion: assertion.value, type, clientId })),
      );
    },
  };
}

async function readAssertion(stdin: Input): Promise<Result<string, Problem>> {
  const bytes = await readUpTo(stdin, ASSERTION_MAX + 1);
  if (bytes.length > ASSERTION_MAX) return problem(EXIT.refused, `The assertion has more than ${ASSERTION_MAX} bytes.`);
  const text = bytes.toString('latin1').trim();
  return text === '' ? problem(EXIT.usage, 'There is no assertion on standard input.') : success(text);
}

/** A refusal is an answer too, but not of the exit code 0: what was found stands in its messages. */
function outcomeOf(explanation: AssertionExplanation): Outcome {
  const lines = linesOf(explanation);
  const { reason, clientId, issuer, assertion, signature } = explanation;
  const isUnverified = typeof signature === 'object';
  if (reason === undefined && !isUnverified) {
    const document = { accepted: true, client_id: clientId, issuer: issuer?.issuer, subject: assertion?.claims.sub };
    const messages = [...lines, `The service accepts it for client ${clientId}.`];
    return success({ document, text: () => '', messages: messages.map(printable) });
  }
  const verdict =
    reason === undefined
      ? `The service would accept it for client ${clientId}, if its signature is right: that could not be verified.`
      : `The service refuses it: ${reason}. ${adviceOn(explanation)}`.trimEnd();
  return failure({ exitCode: EXIT.refused, messages: [...lines, verdict].map(printable) });
}
