import { Option } from 'commander';
import { AUTHENTICATION_METHODS, type AuthenticationMethod } from '../../domain/authentication-method.ts';
import { JWKS_OPTION, SUBJECT_OPTIONS, type SubjectOptions } from './detail-options.ts';
import { EXPIRY_OPTIONS, type ExpiryOptions } from './expiry-options.ts';
import { SECRET_OPTIONS, type SecretOptions } from './secret-options.ts';

export interface AddOptions extends SecretOptions, ExpiryOptions, Partial<SubjectOptions> {
  readonly name: string;
  readonly scope: string;
  readonly method: AuthenticationMethod;
  readonly jwks?: string;
  readonly resource: readonly string[];
}

export const ADD_OPTIONS: readonly Option[] = [
  new Option('--name <name>', 'name of the client, for people').makeOptionMandatory(),
  new Option('--scope <scopes>', 'scopes that it may request, separated by single spaces').makeOptionMandatory(),
  new Option('--method <method>', 'how it authenticates')
    .choices(AUTHENTICATION_METHODS)
    .default('client_secret_post' satisfies AuthenticationMethod),
  JWKS_OPTION,
  ...SUBJECT_OPTIONS,
  new Option('--resource <uri>', 'a resource that it may request (RFC 8707); repeatable')
    .argParser(collected)
    .default([], 'none'),
  ...EXPIRY_OPTIONS,
  ...SECRET_OPTIONS,
];

/** Options that belong to one method, by their names on the command line. */
const OPTIONS_OF_METHOD: Readonly<Record<AuthenticationMethod, Partial<Record<keyof AddOptions, string>>>> = {
  client_secret_post: { secretStdin: '--secret-stdin' },
  client_secret_basic: { secretStdin: '--secret-stdin' },
  private_key_jwt: { jwks: '--jwks' },
  federated_jwt: { issuer: '--issuer', subject: '--subject' },
};

/** What is wrong with the combination of options, if anything. */
export function misusedOption(options: AddOptions): string | undefined {
  const own = OPTIONS_OF_METHOD[options.method];
  for (const [method, names] of Object.entries(OPTIONS_OF_METHOD)) {
    for (const [member, name] of Object.entries(names) as [keyof AddOptions, string][]) {
      const isGiven = options[member] !== undefined;
      if (isGiven && !(member in own)) return `${name} needs --method ${method}.`;
      if (!isGiven && member in own && member !== 'secretStdin') return `--method ${options.method} needs ${name}.`;
    }
  }
  const expires = options.expiresIn !== undefined || options.expiresAt !== undefined;
  if (expires && options.method === 'federated_jwt') return 'A federated subject does not expire.';
  // The id of a secret that expires is a part of it, so the program has to generate it.
  return expires && options.secretStdin
    ? 'A secret from standard input cannot expire; only a generated one can.'
    : undefined;
}

/** The values of a repeatable option. */
function collected(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}
