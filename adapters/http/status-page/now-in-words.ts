import type { RefusalRecord, StatusTotals } from '../../../application/ports/telemetry.ts';
import type { StatusData } from './status-data.ts';
import { minus, sumOf } from './status-history.ts';

interface Now {
  readonly checks: StatusData['checks'];
  readonly lastMinute: StatusTotals;
  /** The refusals of the last minute for a reason. */
  readonly recordsOf: (reason: string) => readonly RefusalRecord[];
}

/**
 * The state now, in one sentence: what is broken and its fix, or how many requests are refused, and mostly why and whose. Strangers
 * at unknown paths come last: there are some on every public port.
 */
export function nowInWords({ checks, lastMinute, recordsOf }: Now): string {
  const broken = checks.flatMap((check) => {
    if (check.ready) return [];
    return [`${check.name}: ${check.reason}.${check.fix === undefined ? '' : ` Fix: ${check.fix}.`}`];
  });
  if (broken.length > 0) return `Not ready. ${broken.join(' ')}`;
  const strangers = sumOf(lastMinute.unknown_paths);
  const atUnknownPaths = strangers === 0 ? '' : ` At unknown paths, ${counted(strangers, 'request')} refused.`;
  return `Ready. ${refusalsInWords(lastMinute, recordsOf)}${atUnknownPaths}`;
}

function refusalsInWords({ requests: all, tokens, ...counts }: StatusTotals, recordsOf: Now['recordsOf']): string {
  const refusals = minus(counts.refusals, counts.unknown_paths);
  const [requests, refused] = [all - sumOf(counts.unknown_paths), sumOf(refusals)];
  if (requests === 0) return 'There was no request in the last minute.';
  if (refused === 0) return `No request of the last minute was refused (${digits(requests)}).`;
  const [reason = ''] = mostFirst(Object.entries(refusals))[0] ?? [];
  const records = recordsOf(reason).filter(({ route, status }) => route !== 'none' || status >= 500);
  const whose = most(records.flatMap(({ client_id: id }) => id ?? []));
  const from = most(records.map(({ remote_address: address }) => address));
  const share = refused * 100 < requests ? 'under 1' : Math.round((refused / requests) * 100);
  const caller = `${whose && ` for ${whose}`}${from && `, from ${from}`}`;
  const ofAll = `${digits(refused)} of ${counted(requests, 'request')} refused in the last minute (${share} %)`;
  return `${ofAll}, mostly ${reason}${caller}; ${tokens === 0 ? 'no token was' : counted(tokens, 'token')} issued.`;
}

const digits = (number: number) => number.toLocaleString('en');

/** Such as `1 token was`, `2 tokens were`. */
const counted = (number: number, what: string) => `${digits(number)} ${what}${number === 1 ? ' was' : 's were'}`;

const mostFirst = (counts: readonly (readonly [string, number])[]) => counts.toSorted(([, a], [, b]) => b - a);

/** The value that most of them have, and whether there are others; empty without any. */
function most(values: readonly string[]): string {
  const counts = [...Map.groupBy(values, (value) => value)].map(([value, same]) => [value, same.length] as const);
  const [first, ...others] = mostFirst(counts);
  if (first === undefined) return '';
  return others.length === 0 ? first[0] : `${first[0]} and ${others.length} more`;
}
