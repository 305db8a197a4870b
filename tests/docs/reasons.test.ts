import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { ANSWERS, type HttpReason, httpRefusal } from '../../adapters/http/server/refusals.ts';
import { REASON_EXPLANATIONS } from '../../adapters/http/status-page/reason-explanations.ts';
import { type RefusalReason, refusal } from '../../domain/refusal.ts';

const PAGE = readFileSync(new URL('../../docs/reasons.md', import.meta.url), 'utf8');

/** The code of a reason, which is one of the domain or one of HTTP. */
function answerTo(reason: string): { readonly status: number; readonly error: string } {
  const code = refusal(reason as RefusalReason).code ?? httpRefusal(reason as HttpReason).code;
  return ANSWERS[code];
}

it('docs/reasons.md has each reason with its answer, in the words of the status page', () => {
  const rows = Object.entries(REASON_EXPLANATIONS).map(([reason, text]) => {
    const { status, error } = answerTo(reason);
    return `| \`${reason}\` | ${status} \`${error}\` | ${text} |`;
  });
  expect(PAGE.split('\n').filter((line) => line.startsWith('| `'))).toEqual(rows);
});
