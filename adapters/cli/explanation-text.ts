import type { AssertionExplanation, ExplainedRule } from '../../application/explain-assertion.ts';
import type { RefusalReason } from '../../domain/refusal.ts';
import { shortened } from './printable.ts';

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

/** What to do about a refusal, and what is easily overlooked. */
export function adviceOn({ reason, issuer, rules }: AssertionExplanation): string {
  const advice = reason === undefined ? '' : (ADVICE[reason] ?? '');
  if (reason === 'assertion_subject_unknown' && issuer?.preset === 'github-actions') {
    return `${advice} The subject of a repository has two spellings, with and without ids: each needs its own rule.`;
  }
  const isOfOtherType = rules.some(({ unmet }) =>
    unmet.some(({ expected, found }) => /number|boolean/.test(typeof found) && String(found) === expected),
  );
  return isOfOtherType ? `${advice} A condition is met by a text only, not by a number or a boolean.` : advice;
}
