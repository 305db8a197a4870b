import { InvalidArgumentError, Option } from 'commander';
import type { Clock } from '../../application/ports/clock.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { EXIT, type Problem, problem } from './outcome.ts';

const SECONDS_OF_UNIT = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** A hundred years: a longer time is a mistake. */
const SECONDS_MAX = 100 * 365 * 86_400;

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
export function expiryOf({ expiresIn, expiresAt }: ExpiryOptions, clock: Clock): Result<number | undefined, Problem> {
  const now = clock.now();
  const time = expiresIn === undefined ? expiresAt : now + expiresIn;
  if (time === undefined || time > now) return success(time);
  return failure(problem(EXIT.usage, 'The time of --expires-at has passed.').problem);
}

/** Such as `90d`, in seconds. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * SECONDS_OF_UNIT[unit as keyof typeof SECONDS_OF_UNIT];
  if (seconds <= SECONDS_MAX) return seconds;
  throw new InvalidArgumentError('It must be a whole number and s, m, h or d: 90d is 90 days.');
}

/** A date, or a time with its zone. A time without a zone would depend on the machine. */
function parseTime(text: string): number {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const seconds = isTime ? Math.floor(Date.parse(text) / 1_000) : Number.NaN;
  if (seconds >= 0) return seconds;
  throw new InvalidArgumentError(
    'It must be a date in UTC such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z.',
  );
}
