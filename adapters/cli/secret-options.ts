import { Option } from 'commander';
import { type Result, success } from '../../domain/result.ts';
import { COST_OPTION, type CostOptions, JSON_OPTION } from './define-command.ts';
import type { Problem } from './outcome.ts';
import { type Input, readSecret, SHORT_SECRET_OPTION, type ShortSecretOptions } from './read-secret.ts';

export interface SecretOptions extends CostOptions, ShortSecretOptions {
  readonly secretStdin?: true;
}

export const SECRET_OPTIONS = [
  new Option('--secret-stdin', 'read the secret from standard input instead of generating one'),
  SHORT_SECRET_OPTION,
  COST_OPTION,
  JSON_OPTION,
];

export const SHOWN_ONCE = 'The secret is shown only this once: the table stores only its BCrypt hash.';

/** The secret on standard input if the command line says so; undefined for a generated one. */
export async function givenSecret(
  { secretStdin, ...options }: SecretOptions,
  stdin: Input,
): Promise<Result<string | undefined, Problem>> {
  return secretStdin ? readSecret(stdin, options) : success(undefined);
}
