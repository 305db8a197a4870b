import { figure } from '../figures/figure.ts';
import { markdownTable } from '../figures/markdown-table.ts';
import type { AnswerCount } from './answer-count.ts';
import type { AttackResult } from './attack.ts';
import { attackVerdicts, verdictLine } from './attack-verdict.ts';
import { goodClientFigures } from './good-client-figures.ts';

/** What became of good clients and attackers, as Markdown. */
export function attackReport(title: string, result: AttackResult): string {
  const without = goodClientFigures(result.without);
  const during = goodClientFigures(result.during);
  const { memory, attackers } = result;
  return [
    `### ${title}`,
    '',
    markdownTable(
      ['', 'without', 'under attack'],
      [
        ['requests of clients seen before', figure(without.requests), figure(during.requests)],
        ['answered with a token', `${figure(without.success, 2)} %`, `${figure(during.success, 2)} %`],
        ['p50, ms', figure(without.p50Ms, 1), figure(during.p50Ms, 1)],
        ['p99, ms', figure(without.p99Ms, 1), figure(during.p99Ms, 1)],
        ['highest, ms', figure(without.highestMs, 1), figure(during.highestMs, 1)],
        ['requests left late by (p99), ms', figure(without.lateP99Ms, 1), figure(during.lateP99Ms, 1)],
        ['first token of a client not seen before, median, ms', '', figure(during.unseenMedianMs)],
        ['the same, highest, ms', '', figure(during.unseenHighestMs)],
        [
          'memory of the service, MB',
          figure(memory.before),
          `${figure(memory.atTheEnd)}, highest ${figure(memory.highest)}`,
        ],
      ],
    ),
    '',
    `What good clients got instead of a token: without ${countText(result.without.failures)}; under attack ${countText(result.during.failures)}.`,
    `What attackers were answered: guesses for known clients ${countText(attackers.guesses)};`,
    `unknown clients ${countText(attackers.unknown)}; garbage ${countText(attackers.garbage)};`,
    `guesses at cost 14 ${countText(attackers.dear)}; slow header senders ${countText(attackers.lorises)}.`,
    '',
    ...attackVerdicts(result).map((verdict) => `- ${verdictLine(verdict)}`),
  ].join('\n');
}

function countText(counts: AnswerCount): string {
  const parts = Object.entries(counts).map(([status, count]) => `${status} × ${figure(count)}`);
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}
