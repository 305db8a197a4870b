import type { AssertionExplanation, ExplainedRule } from '../../../application/federated-jwt/explain-assertion.ts';
import { REASONS } from '../../../domain/refusal.ts';
import { shortened } from '../printable.ts';

/** The longest text of a claim, in characters. */
const SHOWN_MAX = 200;

/** What was found, one line each. They quote claims, in JSON: print them only with what a terminal executes escaped. */
export function linesOf({ assertion, issuer, signature, rules, at }: AssertionExplanation): readonly string[] {
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
export function adviceOn({ reason, issuer, rules }: AssertionExplanation): string {
  const advice = reason === undefined ? '' : REASONS[reason].meaning;
  if (reason === 'assertion_subject_unknown' && issuer?.preset === 'github-actions') {
    return `${advice} The subject of a repository has two spellings, with and without ids: each needs its own rule.`;
  }
  const isOfOtherType = rules.some(({ unmet }) =>
    unmet.some(({ expected, found }) => /number|boolean/.test(typeof found) && String(found) === expected),
  );
  return isOfOtherType ? `${advice} A condition is met by a text only, not by a number or a boolean.` : advice;
}
