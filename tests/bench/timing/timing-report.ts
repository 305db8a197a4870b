import { figure, markdownTable, median } from '../report.ts';
import type { Collection } from './collect-samples.ts';
import {
  detectableMicroseconds,
  differenceMicroseconds,
  type Sample,
  stratifiedRankZ,
} from './stratified-rank-test.ts';
import { type Case, PLANTED, REFERENCE } from './timing-cases.ts';

/** One case next to the reference. Figures in microseconds are medians over the runs. */
export interface CaseResult {
  readonly name: Case;
  readonly count: number;
  readonly median: number;
  readonly difference: number;
  /** The smallest difference that a run finds, on average. */
  readonly detectable: number;
  /** Standard errors from the reference in each run. */
  readonly z: readonly number[];
  /** Answers that were not of the measured path. */
  readonly others: number;
}

/** The limit for the ranks of two cases, in standard errors. */
const Z_MAX = 3;

/** Every case next to the reference, over all runs of one path. */
export function caseResults(runs: readonly Collection[]): readonly CaseResult[] {
  const names = [...(runs[0]?.samples.keys() ?? [])];
  return names.map((name) => {
    const pairs = runs.map(({ samples }) => ({
      own: samples.get(name) ?? [],
      reference: samples.get(REFERENCE) ?? [],
    }));
    const over = (value: (own: readonly Sample[], reference: readonly Sample[]) => number) =>
      pairs.map(({ own, reference }) => value(own, reference));
    return {
      name,
      count: Math.min(...over((own) => own.length)),
      median: median(over((own) => median(own.map(({ microseconds }) => microseconds)))),
      difference: median(over(differenceMicroseconds)),
      detectable: median(over(detectableMicroseconds)),
      z: over(stratifiedRankZ),
      others: runs.reduce((sum, { others }) => sum + (others.get(name) ?? 0), 0),
    };
  });
}

/** Whether the case is told apart in most of the runs: in two of three. In a single one it happens by chance. */
export function isToldApart({ z }: CaseResult): boolean {
  return 2 * z.filter((value) => !(Math.abs(value) < Z_MAX)).length > z.length;
}

/** What a case has to show, and whether it does; undefined if nothing is required of it. */
export function passes(result: CaseResult, planted: number, powerRequired: boolean): boolean | undefined {
  if (result.name === REFERENCE) return undefined;
  if (result.name !== PLANTED || planted === 0) return !isToldApart(result);
  return powerRequired ? isToldApart(result) && result.difference > 0 : undefined;
}

export function timingReport(
  title: string,
  results: readonly CaseResult[],
  planted: number,
  powerRequired: boolean,
): string {
  const rows = results.map((result) => {
    const passed = passes(result, planted, powerRequired);
    return [
      result.name === PLANTED ? `planted: ${planted} µs` : result.name,
      figure(result.count),
      figure(result.median, 1),
      figure(result.difference, 1),
      result.z.map((z) => figure(z, 1)).join(', '),
      figure(result.detectable, 1),
      figure(result.others),
      passed === undefined ? '' : passed ? 'passed' : 'FAILED',
    ];
  });
  const header = ['refused', 'n', 'median µs', 'difference µs', 'z', 'found from µs', 'other answers', ''];
  return `### ${title}\n\n${markdownTable(header, rows)}`;
}
