import { Option } from 'commander';
import type { AssertionExplanation, ExplainedRule } from '../../application/explain-assertion.ts';
import {
  ASSERTION_TYPES,
  type AssertionCredentials,
  type AssertionType,
} from '../../application/ports/client-credentials.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { RefusalReason } from '../../domain/refusal.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { type CommandDefinition, JSON_OPTION, PROGRAM_NAME } from './define-command.ts';
import { EXIT, type Outcome, problem } from './outcome.ts';
import { printable, shortened } from './printable.ts';
import type { Input } from './read-secret.ts';
import type { AnswerOptions } from './terminal.ts';
import { detailsOf } from './with-clients.ts';

/** Bytes. The service refuses longer assertions too. */
const ASSERTION_MAX = 16 * 1024;
const SHOWN_MAX = 200;

/** What the command needs, opened from the settings of the service. */
export interface OpenExplanation {
  execute(credentials: AssertionCredentials): Promise<AssertionExplanation>;
  close(): Promise<void>;
}

/** Opens it, or returns what is wrong with the settings. Throws DependencyUnavailable without the tables. */
export type OpenExplain = () => Promise<Result<OpenExplanation, readonly string[]>>;

interface ExplainOptions extends AnswerOptions {
  readonly clientId?: string;
  readonly type: AssertionType;
}

/** `explain`: says what the service would say to an assertion on standard input, and why. */
export function explainCommand(open: OpenExplain, stdin: Input): CommandDefinition<ExplainOptions> {
  return {
    usage: 'explain',
    summary: 'say why an assertion does or does not authenticate a client',
    description:
      "Reads an assertion of another issuer (federated_jwt) from standard input and checks it as the service does, with the service's settings. Stores nothing and prints no signature.",
    examples: [
      `${PROGRAM_NAME} explain < token.txt`,
      `kubectl create token billing --audience https://auth.example | npm run --silent clients -- explain --client-id billing`,
    ],
    options: [
      new Option('--client-id <id>', 'the client_id that the request has, if any'),
      new Option('--type <type>', 'the last part of client_assertion_type')
        .choices(ASSERTION_TYPES)
        .default('jwt-bearer'),
      JSON_OPTION,
    ],
    async run({ clientId, type }) {
      const assertion = await readAssertion(stdin);
      if (!assertion.ok) return assertion;
      try {
        const opened = await open();
        if (!opened.ok) return problem(EXIT.usage, ...opened.problem);
        const { execute, close } = opened.value;
        return outcomeOf(await execute({ assertion: assertion.value, type, clientId }).finally(close));
      } catch (fault) {
        if (!(fault instanceof DependencyUnavailable)) throw fault;
        return problem(EXIT.databaseUnavailable, `The database cannot be used: ${detailsOf(fault.cause)}`);
      }
    },
  };
}

async function readAssertion(stdin: Input): Promise<Result<string, ReturnType<typeof problem>['problem']>> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    chunks.push(Buffer.from(chunk));
    length += chunk.length;
    if (length > ASSERTION_MAX) return problem(EXIT.refused, `The assertion has more than ${ASSERTION_MAX} bytes.`);
  }
  const text = Buffer.concat(chunks).toString('latin1').trim();
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
      : `The service refuses it: ${reason}. ${ADVICE[reason] ?? ''}${adviceOf(explanation)}`.trimEnd();
  return failure({ exitCode: EXIT.refused, messages: [...lines, verdict].map(printable) });
}

function linesOf({ assertion, issuer, signature, rules, at }: AssertionExplanation): readonly string[] {
  if (assertion === undefined) return [];
  const { header, claims } = assertion;
  const { iat, exp } = claims;
  const age = iat === undefined ? 'no iat' : `issued ${at - iat} s ago`;
  return [
    `issuer: ${shown(claims.iss)}${issuer === undefined ? ' (not trusted)' : ` (trusted as ${issuer.issuer}, preset ${issuer.preset})`}`,
    `subject: ${shown(claims.sub)}`,
    `audience: ${claims.aud.map(shown).join(', ')}${issuer === undefined ? '' : ` (expected ${shown(issuer.audience)})`}`,
    `algorithm: ${shown(header.alg)}, key id ${shown(header.kid)}`,
    `time: ${age}, ${exp > at ? `expires in ${exp - at} s` : `expired ${at - exp} s ago`}`,
    ...(signature === undefined
      ? []
      : [`signature: ${typeof signature === 'string' ? signature : signature.unavailable}`]),
    ...rules.map(lineOf),
  ];
}

function lineOf({ clientId, problem: weakness, unmet }: ExplainedRule): string {
  if (weakness !== undefined) return `rule of client ${clientId}: does not count, ${weakness}`;
  if (unmet.length === 0) return `rule of client ${clientId}: matches`;
  const differences = unmet.map(({ path, expected, found }) => {
    return `${path} is ${found === undefined ? 'missing' : shown(found)} and must be ${shown(expected)}`;
  });
  return `rule of client ${clientId}: ${differences.join('; ')}`;
}

/** As JSON, which distinguishes a text from a number. */
function shown(value: unknown): string {
  return value === undefined ? 'none' : shortened(JSON.stringify(value), SHOWN_MAX);
}

/** What to do about a reason that is not obvious from what was found. */
const ADVICE: Readonly<Partial<Record<RefusalReason, string>>> = {
  assertion_malformed: 'It must be a JWT in its compact form with alg, sub, aud and exp, and no member twice.',
  assertion_issuer_untrusted: 'CLIENT_ASSERTION_ISSUERS_FILE has no issuer with exactly this name.',
  assertion_algorithm_refused: 'The issuer does not list this algorithm.',
  assertion_type_refused: 'The header must have typ JWT, or none.',
  assertion_audience_wrong: 'Request a token with exactly the expected audience, and no other one.',
  assertion_expired: 'Request a new token right before it is used.',
  assertion_too_old: 'CLIENT_ASSERTION_MAX_AGE_SECONDS is the greatest age.',
  assertion_lifetime_too_long: 'It has no iat, so exp must be at most CLIENT_ASSERTION_MAX_AGE_SECONDS ahead.',
  assertion_not_yet_valid: 'Compare the clocks of the issuer and of this machine.',
  assertion_key_unknown: 'The key set of the issuer has no key with this id and algorithm.',
  assertion_subject_unknown: 'No client has a rule for exactly this issuer and subject.',
  client_ambiguous: 'Several clients have a rule that matches: send client_id.',
  client_disabled: 'The client is disabled.',
};

/** What is easily overlooked. */
function adviceOf({ reason, issuer, rules }: AssertionExplanation): string {
  if (reason === 'assertion_subject_unknown' && issuer?.preset === 'github-actions') {
    return ' The subject of a repository has two spellings, with and without ids: each needs its own rule.';
  }
  const isTypeOnly = rules.some(({ unmet }) =>
    unmet.some(({ expected, found }) => typeof found !== 'string' && String(found) === expected),
  );
  return isTypeOnly ? ' A condition is met by a text only, not by a number or a boolean.' : '';
}
