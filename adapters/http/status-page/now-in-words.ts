import type { RefusalRecord } from '../../../application/ports/telemetry.ts';
import type { LastMinute, StatusData } from './status-data.ts';

interface Now {
  readonly checks: StatusData['checks'];
  readonly lastMinute: LastMinute;
  /** The latest refusals. Those for the most frequent reason count. */
  readonly records: readonly RefusalRecord[];
}

/** The most frequent reason of the last minute; empty if there was no refusal. */
export function topReason({ refusals }: LastMinute): string {
  return Object.entries(refusals).toSorted(([, one], [, other]) => other - one)[0]?.[0] ?? '';
}

/** What happens now, in one sentence: what is broken and its fix, or how many requests are refused, and mostly why and whose. */
export function nowInWords({ checks, lastMinute, records }: Now): string {
  const broken = checks.flatMap((check) => (check.ready ? [] : [`${check.name}: ${check.reason} (${check.fix})`]));
  if (broken.length > 0) return `Not ready. ${broken.join('; ')}.`;
  const { requests, tokens, refusals } = lastMinute;
  const refused = Object.values(refusals).reduce((sum, count) => sum + count, 0);
  const reason = topReason(lastMinute);
  if (requests === 0) return 'Ready. There was no request in the last minute.';
  if (reason === '') return `Ready. No request of the last minute was refused (${requests}).`;
  const share = Math.min(100, Math.ceil((refused / requests) * 100));
  const ofReason = records.filter((record) => record.reason === reason);
  const whose = most(ofReason.flatMap(({ client_id: id }) => id ?? []));
  const from = most(ofReason.map(({ remote_address: address }) => address));
  const others =
    tokens > 0 ? `others are served (${tokens} tokens in the last minute)` : 'nobody got a token in that minute';
  return `Ready. ${share} % of the requests are refused, mostly ${reason}${whose && ` for ${whose}`}${from && `, from ${from}`}; ${others}.`;
}

/** The value that most of them have, and whether there are others; empty without any. */
function most(values: readonly string[]): string {
  const [first, ...others] = [...Map.groupBy(values, (value) => value)].toSorted(
    ([, one], [, other]) => other.length - one.length,
  );
  if (first === undefined) return '';
  return others.length === 0 ? first[0] : `${first[0]} and ${others.length} more`;
}
