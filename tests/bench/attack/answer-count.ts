import { NO_ANSWER } from './raw-connection.ts';

/** How often each status was answered; `none` where a connection ended without an answer. */
export type AnswerCount = Record<string, number>;

export function countAnswer(counts: AnswerCount, status: number): void {
  const name = status === NO_ANSWER ? 'none' : String(status);
  counts[name] = (counts[name] ?? 0) + 1;
}
