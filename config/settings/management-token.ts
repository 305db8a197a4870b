import { SecretText } from '../../adapters/system/secret-text.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** The rule of MANAGEMENT_TOKEN: the characters of a bearer token (RFC 6750 section 2.1), so that it can be sent as one. */
export const MANAGEMENT_TOKEN_RULE = 'must be 16 to 1024 letters, digits and -._~+/=';

export function isManagementToken(value: string): boolean {
  return /^[\w.~+/=-]{16,1024}$/.test(value);
}

/** The token in a file of one line, as container engines mount secrets. Fails with the rule, never with the text. */
export function readManagementToken(text: string): Result<SecretText, readonly string[]> {
  const token = text.replace(/[\r\n]+$/, '');
  return isManagementToken(token)
    ? success(new SecretText(token))
    : failure(['must contain one line of 16 to 1024 letters, digits and -._~+/=']);
}
