import { ASSERTION_TYPES, type AssertionCredentials } from '../../../application/ports/client-credentials.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import type { ReadParameter } from './form.ts';

export const ASSERTION_PARAMETERS = ['client_assertion_type', 'client_assertion'] as const;

const TYPE_PREFIX = 'urn:ietf:params:oauth:client-assertion-type:';

/** The assertion of a form that has one of its parameters (RFC 7521 section 4.2), or why it is refused. */
export function readAssertion(
  parameter: ReadParameter,
  clientId: string | undefined,
): Result<AssertionCredentials, HttpReason> {
  if (parameter('client_secret')) return failure('credentials_repeated');
  const [type, assertion] = ASSERTION_PARAMETERS.map(parameter);
  if (type === undefined || assertion === undefined) return failure('assertion_incomplete');
  const known = ASSERTION_TYPES.find((name) => type === TYPE_PREFIX + name);
  return known === undefined ? failure('assertion_type_unsupported') : success({ type: known, assertion, clientId });
}
