import { Option } from 'commander';
import type { AssertionExplanation, ExplainedRule } from '../../../application/federated-jwt/explain-assertion.ts';
import {
  ASSERTION_TYPES,
  type AssertionCredentials,
  type AssertionType,
} from '../../../application/ports/client-credentials.ts';
import { MEANINGS } from '../../../application/refusal-meanings.ts';
import { type CommandDefinition, JSON_OPTION } from '../command-program.ts';
import { EXIT, type Output, Problem } from '../outcome.ts';
import { shortened } from '../printable.ts';
import { type Input, readUpTo } from '../read-secret.ts';
import { type OpenStorage, whenUsed } from '../storage-fault.ts';
import type { OutputOptions } from '../terminal.ts';

/** Bytes. The service refuses longer assertions too. */
const ASSERTION_MAX = 16 * 1024;

/** The longest text of a claim, in characters. */
const SHOWN_MAX = 200;

export const FEDERATED_ONLY =
  'explain is only about assertions of other issuers (federated_jwt). The log says why one of private_key_jwt is refused: docs/reasons.md.';

/** What the command needs, opened from the settings of the service. */
export interface OpenExplanation {
  execute(credentials: AssertionCredentials): Promise<AssertionExplanation>;
  close(): Promise<void>;
}

/** Opens it, or returns what is wrong with the settings. Throws DependencyUnavailable without the tables. */
type OpenExplain = OpenStorage<OpenExplanation>;

export interface ExplainOptions extends OutputOptions {
  readonly clientId?: string;
  readonly type: AssertionType;
}

/**
 * `explain`: says what the service would say to an assertion on standard input, and why.
 *
 * @param program how users call the program that has this command.
 */
export function explainCommand(
  open: OpenExplain,
  program: string,
  stdin: Input,
): CommandDefinition<unknown, ExplainOptions> {
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
    async *run(_parts, { clientId, type }) {
      const assertion = await readAssertion(stdin);
      const service = whenUsed(open);
      try {
        const explanation = await service.open();
        yield outputOf(await explanation.execute({ assertion, type, clientId }));
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

/** A refusal is output too, but not of the exit code 0: what was found stands in its messages. */
function outputOf(explanation: AssertionExplanation): Output {
  const lines = linesOf(explanation);
  const { reason, fault, clientId, issuer, assertion, signature } = explanation;
  const isUnverified = typeof signature === 'object';
  if (reason === 'assertion_issuer_untrusted' && assertion?.claims.iss === assertion?.claims.sub)
    throw new Problem(EXIT.refused, ...lines, FEDERATED_ONLY);
  if (reason === undefined && !isUnverified) {
    const document = { accepted: true, client_id: clientId, issuer: issuer?.issuer, subject: assertion?.claims.sub };
    const messages = [...lines, `The service accepts it for client ${clientId}.`];
    return { document, text: () => '', messages };
  }
  const verdict =
    reason === undefined
      ? `The service would accept it for client ${clientId}, if its signature is right: that could not be verified.`
      : `The service refuses it: ${reason}${fault === undefined ? '' : ` (${fault})`}. ${adviceOn(explanation)}`.trimEnd();
  throw new Problem(EXIT.refused, ...lines, verdict);
}

/** What was found, one line each. They quote claims, in JSON; the terminal escapes what it would execute. */
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

/** What to do about a refusal, and what is easily overlooked. */
function adviceOn({ reason, issuer, rules }: AssertionExplanation): string {
  const advice = reason === undefined ? '' : MEANINGS[reason];
  if (reason === 'assertion_subject_unknown' && issuer?.preset === 'github-actions') {
    return `${advice} The subject of a repository has two spellings, with and without ids: each needs its own rule.`;
  }
  const isOfOtherType = rules.some(({ unmet }) =>
    unmet.some(({ expected, found }) => /number|boolean/.test(typeof found) && String(found) === expected),
  );
  return isOfOtherType ? `${advice} A condition is met by a text only, not by a number or a boolean.` : advice;
}
