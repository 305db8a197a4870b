import { z } from 'zod';
import { SecretText } from '../../../adapters/system/secret-text.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { invisibleEnd } from '../../settings/invisible-ends.ts';
import { type Environment, settingsGroup } from '../../settings/read-environment.ts';
import { text } from '../../settings/setting-kinds.ts';

/** The characters of a bearer token (RFC 6750 section 2.1), and so many that nobody guesses it. */
const FORM = /^[\w.~+/=-]{32,1024}$/;
const FORM_IN_WORDS = '32 to 1024 letters, digits and -._~+/=';
const FIX = 'openssl rand -base64 32 makes one';

// biome-ignore format: one line for each setting, so that checks, defaults and texts stand below each other
export const STATUS_SETTINGS = settingsGroup({
  rows: {
    MANAGEMENT_TOKEN: managementToken().optional().describe('the token with which an operator reads the [status](monitoring.md#the-status-page) on the management port. Without it, only the four paths of `MANAGEMENT_PORT` answer there'),
    MANAGEMENT_TOKEN_FILE: text().optional().describe('file with that token in one line, for container secrets, instead of `MANAGEMENT_TOKEN`. It is read once, at the start'),
  },
  contradictions: {
    'MANAGEMENT_TOKEN: must not be set if MANAGEMENT_TOKEN_FILE is set': (given) => given['MANAGEMENT_TOKEN'] && given['MANAGEMENT_TOKEN_FILE'],
    'MANAGEMENT_TOKEN: needs a management port: set MANAGEMENT_PORT=8081 or another port': (given) => given['MANAGEMENT_TOKEN'] && hasNoPort(given),
    'MANAGEMENT_TOKEN_FILE: needs a management port: set MANAGEMENT_PORT=8081 or another port': (given) => given['MANAGEMENT_TOKEN_FILE'] && hasNoPort(given),
  },
});

/** Whether nothing answers the operator. */
function hasNoPort(given: Environment): boolean {
  return given['MANAGEMENT_PORT'] === '0' && given['HEALTH_ON_PUBLIC_PORT'] !== 'true';
}

function managementToken() {
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
