import { InvalidArgumentError, Option } from 'commander';
import type { AddedDetails } from '../../../application/clients-program/change-client.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN, CHOSEN_SECRET_COST } from '../../../domain/stored-secret.ts';
import { JSON_OPTION } from '../command-program.ts';
import { EXIT, Problem } from '../outcome.ts';
import { SHORT_SECRET_OPTION, type ShortSecretOptions } from '../read-secret.ts';
import type { OutputOptions } from '../terminal.ts';
import { FIELD_OPTIONS, fieldsGiven } from './client-field-options.ts';
import { readJwks } from './read-jwks.ts';

const SECONDS_OF_UNIT = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** A hundred years: a longer time is a mistake. */
const SECONDS_MAX = 100 * 365 * 86_400;

/** Options of commands that encode a secret, which they generate if none is given. */
export interface CostOptions extends OutputOptions {
  readonly cost?: number;
}

/** Options of commands that encode a secret that is given. */
export interface GivenCostOptions extends OutputOptions {
  readonly cost: number;
}

const COSTS = `BCrypt cost, ${BCRYPT_COST_MIN} to ${BCRYPT_COST_MAX}`;

/** For a secret that is generated, if nobody gives one. */
export const COST_OPTION = new Option(
  '--cost <cost>',
  `${COSTS} (default: ${BCRYPT_COST_MIN} for a generated secret, otherwise ${CHOSEN_SECRET_COST})`,
).argParser(parseCost);

/** For a secret that is given. */
export const GIVEN_COST_OPTION = new Option('--cost <cost>', COSTS).argParser(parseCost).default(CHOSEN_SECRET_COST);

export interface SecretOptions extends CostOptions, ShortSecretOptions {
  readonly secretStdin?: true;
}

export const SECRET_OPTIONS = [
  new Option('--secret-stdin', 'read the secret from standard input instead of generating one'),
  SHORT_SECRET_OPTION,
  COST_OPTION,
  JSON_OPTION,
];

export interface ExpiryOptions {
  /** Seconds. */
  readonly expiresIn?: number;
  /** Seconds since the epoch. */
  readonly expiresAt?: number;
}

export const EXPIRY_OPTIONS = [
  new Option('--expires-in <time>', 'how long it is valid, such as 90d, 12h or 30m').argParser(parseDuration),
  new Option('--expires-at <time>', 'until when it is valid, such as 2027-01-31 or 2027-01-31T12:00:00Z')
    .argParser(parseTime)
    .conflicts('expiresIn'),
];

/** Seconds since the epoch; undefined if it never expires. */
export function expiryOf({ expiresIn, expiresAt }: ExpiryOptions, clock: Clock): number | undefined {
  const now = clock.now();
  const time = expiresIn === undefined ? expiresAt : now + expiresIn;
  if (time === undefined || time > now) return time;
  throw new Problem(EXIT.usage, 'The time of --expires-at has passed.');
}

export const JWKS_OPTION = new Option(
  '--jwks <file>',
  'file with the public keys of the client, as a JSON Web Key Set or one JSON Web Key',
);

export const PREFIX_OPTION = new Option('--prefix <text>', 'only ids that begin with this text').default('', 'all ids');

/** The identity of another issuer. */
export interface SubjectOptions {
  readonly issuer: string;
  readonly subject: string;
  readonly claim: Readonly<Record<string, string>>;
}

export const SUBJECT_OPTIONS = [
  new Option('--issuer <issuer>', 'issuer of its assertions: claim iss, or a SPIFFE trust domain'),
  new Option('--subject <subject>', 'its identity there: claim sub, compared exactly'),
  new Option('--claim <path=value>', 'a further claim that must have this value; repeatable')
    .argParser(parseClaim)
    .default({}, 'none'),
];

/** What `add` and `update` share of the details. Those of simple fields are read by `fieldsGiven`. */
export interface DetailOptions extends ExpiryOptions, Partial<SubjectOptions> {
  /** Of the resources of this command. */
  readonly resourceScope?: string;
}

export const DETAIL_OPTIONS = [
  new Option('--resource-scope <scopes>', 'the only scopes of tokens for the resources that this command gives it'),
  ...FIELD_OPTIONS,
  ...EXPIRY_OPTIONS,
];

/** Follows what is said about `--claim`. */
export const NOT_TOKEN_CLAIMS = '; the claims of its tokens are --token-claims.';

/** What a command adds to a client, and the simple fields that it sets. */
export async function addedDetails(
  given: { readonly keyFile?: string | undefined; readonly hasSubject: boolean; readonly resources: readonly string[] },
  options: DetailOptions,
  clock: Clock,
): Promise<AddedDetails> {
  const { issuer = '', subject = '', claim: claims = {}, resourceScope: scope } = options;
  const { keyFile, hasSubject, resources } = given;
  return {
    jwks: { keys: keyFile === undefined ? [] : await readJwks(keyFile, expiryOf(options, clock)) },
    federated_subjects: hasSubject ? [{ issuer, subject, claims }] : [],
    resources: scope === undefined ? resources : resources.map((resource) => ({ resource, scope })),
    ...fieldsGiven(options),
  };
}

/** Such as `90d`, in seconds. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * SECONDS_OF_UNIT[unit as keyof typeof SECONDS_OF_UNIT];
  if (seconds <= SECONDS_MAX) return seconds;
  throw new InvalidArgumentError('It must be a whole number and s, m, h or d: 90d is 90 days.');
}

/** A date, or a time with its zone. Without one it would depend on the machine; 31 February would be in March. */
function parseTime(text: string): number {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const seconds = isTime ? Math.floor(Date.parse(text) / 1_000) : Number.NaN;
  const [day = ''] = text.split('T');
  if (seconds >= 0 && new Date(day).toISOString().startsWith(day)) return seconds;
  throw new InvalidArgumentError(
    'It must be a date in UTC such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z.',
  );
}

function parseCost(text: string): number {
  const cost = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX) return cost;
  throw new InvalidArgumentError(`It must be a whole number from ${BCRYPT_COST_MIN} to ${BCRYPT_COST_MAX}.`);
}

function parseClaim(text: string, earlier: SubjectOptions['claim']): SubjectOptions['claim'] {
  const end = text.indexOf('=');
  const path = text.slice(0, end);
  if (end < 1) throw new InvalidArgumentError('It must be the path of a claim, = and its value.');
  if (Object.hasOwn(earlier, path)) throw new InvalidArgumentError(`The claim ${path} is given twice.`);
  return { ...earlier, [path]: text.slice(end + 1) };
}

/** The values of a repeatable option. */
export function collected(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
