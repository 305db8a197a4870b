import { figure } from '../figures/figure.ts';
import { markdownTable } from '../figures/markdown-table.ts';
import { PARTS, type Part } from './cpu-profile.ts';

/** The parts as a table: share of the time in which the workers were busy, and microseconds a token. */
export function profileReport(times: readonly ReadonlyMap<Part, number>[], tokens: number): string {
  const sums = PARTS.map((part) => times.reduce((sum, time) => sum + (time.get(part) ?? 0), 0));
  const all = sums.reduce((sum, time) => sum + time, 0);
  const row = (name: string, time: number) => [name, `${figure((100 * time) / all, 1)} %`, figure(time / tokens, 1)];
  const rows = PARTS.map((part, position) => row(part, sums[position] ?? 0));
  return markdownTable(['part', 'share', 'µs/token'], [...rows, row('all', all)]);
}
