import type { AnswerCount } from './answer-count.ts';
import type { AttackResult } from './attack.ts';
import type { AttackerAnswers } from './attack-job.ts';
import { goodClientFigures } from './good-client-figures.ts';

const P99_MS_MAX = 100;
const UNSEEN_MS_MAX = 2_000;

/** What attackers may be answered. Whoever is slow with a header is answered 408 or cut off, and is not judged here. */
const ALLOWED: Readonly<Record<Exclude<keyof AttackerAnswers, 'lorises'>, readonly string[]>> = {
  guesses: ['401', '429', '503'],
  unknown: ['401', '429', '503'],
  dear: ['401', '429', '503'],
  garbage: ['400', '429', '503'],
};

export interface Verdict {
  readonly claim: string;
  readonly holds: boolean;
}

/** What a service is held to while it is attacked. */
export function attackVerdicts({ during, attackers }: AttackResult): readonly Verdict[] {
  const good = goodClientFigures(during);
  return [
    { claim: 'every request of a client that was seen before gets its token', holds: good.success === 100 },
    { claim: `their p99 is below ${P99_MS_MAX} ms`, holds: good.p99Ms < P99_MS_MAX },
    {
      claim: `a client that was not seen before has its token within ${UNSEEN_MS_MAX / 1000} s`,
      holds: good.unseenHighestMs <= UNSEEN_MS_MAX,
    },
    {
      claim: 'attackers are answered 401, 429 or 503, and garbage 400, 429 or 503',
      holds: Object.entries(ALLOWED).every(([kind, allowed]) =>
        areAmong(allowed, attackers[kind as keyof typeof ALLOWED]),
      ),
    },
  ];
}

function areAmong(allowed: readonly string[], counts: AnswerCount): boolean {
  return Object.keys(counts).every((status) => allowed.includes(status));
}

export function verdictLine({ claim, holds }: Verdict): string {
  return `${holds ? 'holds' : 'does not hold'}: ${claim}`;
}
