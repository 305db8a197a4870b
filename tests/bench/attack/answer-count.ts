import { figure } from '../report.ts';

/** How often each status was received; `none` counts connections that ended without an answer. */
export type AnswerCount = Record<string, number>;

/** Such as `401 × 12, 503 × 1,200`. */
export function countText(counts: AnswerCount): string {
  const parts = Object.entries(counts).map(([status, count]) => `${status} × ${figure(count)}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}
