import type { DetailsProblem, FederatedSubject } from '../../domain/client-details.ts';

/** Why a rule for identities of another issuer may not be added; undefined if it may. */
export type CheckRule = (rule: FederatedSubject) => string | undefined;

/** The first rule that may not be added, by its position among those that are added. */
export function problemOfRules(rules: readonly FederatedSubject[], checkRule: CheckRule): DetailsProblem | undefined {
  for (const [position, added] of rules.entries()) {
    const rule = checkRule(added);
    if (rule !== undefined) return { kind: 'subjects', position, rule };
  }
  return undefined;
}
