import { Option } from 'commander';
import type { AddedClient, NewClientRequest } from '../../../application/clients-program/add-client.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import {
  AUTHENTICATION_METHODS,
  type AuthenticationMethod,
  sendOnlySecrets,
} from '../../../domain/authentication-method.ts';
import { withoutEmpty } from '../../../domain/client-details.ts';
import { simpleFieldsOf } from '../../../domain/client-fields.ts';
import { EXIT, type Output, Problem } from '../outcome.ts';
import { type Input, readSecret } from '../read-secret.ts';
import { accepted, type ClientCommand, PROGRAM_NAME } from './client-command.ts';
import {
  addedDetails,
  collected,
  DETAIL_OPTIONS,
  type DetailOptions,
  expiryOf,
  JWKS_OPTION,
  NOT_TOKEN_CLAIMS,
  SECRET_OPTIONS,
  type SecretOptions,
  SUBJECT_OPTIONS,
} from './client-options.ts';
import { clientOutput } from './client-output.ts';

interface AddOptions extends SecretOptions, DetailOptions {
  readonly name: string;
  readonly scope: string;
  readonly method: AuthenticationMethod;
  readonly jwks?: string;
  readonly resource: readonly string[];
}

const ADD_OPTIONS: readonly Option[] = [
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
  ...DETAIL_OPTIONS,
  ...SECRET_OPTIONS,
];

/** `add [client-id]`: registers a client for one authentication method, and shows its secret once if it has one. */
export const ADD_COMMAND: ClientCommand<AddOptions> = {
  usage: 'add [client-id]',
  summary: 'register a client, and show its secret once',
  description:
    'Registers a client. Without an id it gets a random one, and without --secret-stdin a secret of 256 bits. With a method other than a secret it gets no secret; the service must have the method in CLIENT_AUTHENTICATION_METHODS.',
  examples: [
    `${PROGRAM_NAME} add billing --name 'Billing' --scope 'read write'`,
    `${PROGRAM_NAME} add --name 'Nightly report' --scope read --json`,
    `${PROGRAM_NAME} add billing --name 'Billing' --scope read --secret-stdin < secret.txt`,
    `${PROGRAM_NAME} add billing --name 'Billing' --scope read --expires-in 90d`,
    `${PROGRAM_NAME} add billing --name 'Billing' --scope read --token-claims '{"tenant":"acme"}' --token-lifetime 60`,
    `${PROGRAM_NAME} add billing --name 'Billing' --scope read --method private_key_jwt --jwks keys.json`,
    `${PROGRAM_NAME} add billing --name 'Billing' --scope read --method federated_jwt --issuer https://issuer.example --subject billing`,
  ],
  options: ADD_OPTIONS,
  async *run({ open, stdin, clock }, options, clientId) {
    const request = await requestOf(options, stdin, clock);
    const clients = await open();
    const adding = clients.addClient({ clientId, ...request });
    yield outputFor(await accepted(clientId ?? '', adding), options);
  },
};

async function requestOf(options: AddOptions, stdin: Input, clock: Clock): Promise<Omit<NewClientRequest, 'clientId'>> {
  const { name: clientName, scope, method, cost, jwks: keyFile, resource: resources, secretStdin } = options;
  const misused = misusedOption(options);
  if (misused !== undefined) throw new Problem(EXIT.usage, misused);
  const expiresAt = expiryOf(options, clock);
  const hasSubject = method === 'federated_jwt';
  const details = await addedDetails({ keyFile, hasSubject, resources }, options, clock);
  if (!sendOnlySecrets([method])) return { clientName, scope, secret: undefined, details };
  const secret =
    expiresAt === undefined
      ? { secret: secretStdin ? await readSecret(stdin, options) : undefined, cost }
      : { name: undefined, expiresAt, cost };
  return { clientName, scope, secret, details };
}

/** A client with a secret without an id and nothing else is shown briefly. */
function outputFor({ client, secret }: AddedClient, { secretStdin }: AddOptions): Output {
  const { secrets, keys, federated_subjects, resources, ...others } = client;
  const details = { keys, federated_subjects, resources, ...simpleFieldsOf(others) };
  const isBrief =
    Object.keys(withoutEmpty(details)).length === 0 && secrets.every(({ secret_id }) => secret_id === null);
  const shown = { client, isBrief, secret: secretStdin ? undefined : secret };
  return clientOutput(shown, [`Client ${client.client_id} is added.`]);
}

/** Options that belong to one method, by their names on the command line. */
const OPTIONS_OF_METHOD: Readonly<Record<AuthenticationMethod, Partial<Record<keyof AddOptions, string>>>> = {
  client_secret_post: { secretStdin: '--secret-stdin' },
  client_secret_basic: { secretStdin: '--secret-stdin' },
  private_key_jwt: { jwks: '--jwks' },
  federated_jwt: { issuer: '--issuer', subject: '--subject' },
};

/** What is wrong with the combination of options, if anything. */
function misusedOption(options: AddOptions): string | undefined {
  const own = OPTIONS_OF_METHOD[options.method];
  for (const [method, names] of Object.entries(OPTIONS_OF_METHOD)) {
    for (const [field, name] of Object.entries(names) as [keyof AddOptions, string][]) {
      const isGiven = options[field] !== undefined;
      if (isGiven && !(field in own)) return `${name} needs --method ${method}.`;
      if (!isGiven && field in own && field !== 'secretStdin') return `--method ${options.method} needs ${name}.`;
    }
  }
  if (options.method !== 'federated_jwt' && Object.keys(options.claim ?? {}).length > 0) {
    return `--claim needs --method federated_jwt${NOT_TOKEN_CLAIMS}`;
  }
  if (options.resourceScope !== undefined && options.resource.length === 0) return '--resource-scope needs --resource.';
  const expires = options.expiresIn !== undefined || options.expiresAt !== undefined;
  if (expires && options.method === 'federated_jwt') return 'A federated subject does not expire.';
  // The id of a secret that expires is a part of it, so the program has to generate it.
  return expires && options.secretStdin
    ? 'A secret from standard input cannot expire; only a generated one can.'
    : undefined;
}
