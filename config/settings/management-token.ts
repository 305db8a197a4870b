import { z } from 'zod';
import { SecretText } from '../../adapters/system/secret-text.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { invisibleEnd } from './invisible-ends.ts';

/** The characters of a bearer token (RFC 6750 section 2.1), and so many that nobody guesses it. */
const FORM = /^[\w.~+/=-]{32,1024}$/;
const FORM_IN_WORDS = '32 to 1024 letters, digits and -._~+/=';
const FIX = 'openssl rand -base64 32 makes one';

/** The kind of MANAGEMENT_TOKEN. */
export function managementToken() {
  return z
    .string()
    .regex(FORM, `must be ${FORM_IN_WORDS}: ${FIX}`)
    .transform((value) => new SecretText(value))
    .meta({ values: FORM_IN_WORDS.replace(/\S+$/, '`$&`') });
}

/** The token in a file of one line, as container engines mount secrets. Fails with the rule, never with the text. */
export function readManagementToken(content: string): Result<SecretText, readonly string[]> {
  const token = content.replace(/[\r\n]+$/, '');
  const rule = invisibleEnd(token) ?? `must contain one line of ${FORM_IN_WORDS}: ${FIX}`;
  return FORM.test(token) ? success(new SecretText(token)) : failure([rule]);
}
