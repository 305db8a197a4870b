import { expect, it } from '@jest/globals';
import { nowInWords } from '../../../adapters/http/status-page/now-in-words.ts';
import type { RefusalRecord } from '../../../application/ports/telemetry.ts';

const READY = [{ name: 'client repository', ready: true }] as const;

const record = (reason: string, remote_address: string, client_id?: string) =>
  ({ reason, remote_address, ...(client_id && { client_id }) }) as RefusalRecord;

it.each([
  ['nothing was asked', {}, [], 'Ready. There was no request in the last minute.'],
  ['nothing is refused', { requests: 40, tokens: 30 }, [], 'Ready. No request of the last minute was refused (40).'],
  [
    'one caller guesses, and others are served',
    { requests: 1_000, tokens: 260, refusals: { attempts_exhausted: 700, secret_wrong: 40 } },
    [
      ...[undefined, 'billing', 'billing'].map((id) => record('attempts_exhausted', '203.0.113.7', id)),
      record('secret_wrong', '192.0.2.1', 'another'),
    ],
    'Ready. 74 % of the requests are refused, mostly attempts_exhausted for billing, from 203.0.113.7; others are served (260 tokens in the last minute).',
  ],
  [
    'many callers are refused, and nobody is served',
    { requests: 10, tokens: 0, refusals: { client_unknown: 10 } },
    ['203.0.113.7', '203.0.113.8', '203.0.113.8'].map((address) => record('client_unknown', address)),
    'Ready. 100 % of the requests are refused, mostly client_unknown, from 203.0.113.8 and 1 more; nobody got a token in that minute.',
  ],
  [
    'one of very many is refused',
    { requests: 100_000, tokens: 99_999, refusals: { secret_wrong: 1 } },
    [],
    'Ready. 1 % of the requests are refused, mostly secret_wrong; others are served (99999 tokens in the last minute).',
  ],
])('says in one sentence that %s', (_what, counted, records, sentence) => {
  const lastMinute = { requests: 0, tokens: 0, refusals: {}, ...counted };
  expect(nowInWords({ checks: READY, lastMinute, records })).toBe(sentence);
});

it('says what is broken and what to do about it, whatever is refused', () => {
  const checks = [
    ...READY,
    { name: 'signing key', ready: false, reason: 'the clock is off', cure: 'correct the clock' },
    { name: 'log', ready: true, note: 'lines are lost', cure: 'free the disk' },
  ] as const;
  const lastMinute = { requests: 9, tokens: 0, refusals: { dependency_unavailable: 9 } };
  expect(nowInWords({ checks, lastMinute, records: [] })).toBe(
    'Not ready. signing key: the clock is off (correct the clock).',
  );
});
