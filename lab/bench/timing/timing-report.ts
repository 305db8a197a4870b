import { rankZ } from '../../../tests/support/rank-test.ts';
import { figure, median, sum, table } from '../report.ts';
import type { Collection } from './collect-samples.ts';
import { detectableDifference, fastMean, standardErrorsAbove } from './fast-mean.ts';
import { type Case, PLANTED, REFERENCE } from './timing-cases.ts';

/** One case next to the reference. Figures in microseconds are medians over the runs. */
interface CaseResult {
  readonly name: Case;
  /** Answers in each run, at least. */
  readonly count: number;
  readonly fastMean: number;
  readonly difference: number;
  /** The smallest difference from the reference that a run finds, on average. */
  readonly detectable: number;
  /**
   * Standard errors above the reference in each run: of the mean of the fast answers, and of the ranks of all
   * responses.
   */
  readonly z: readonly { readonly fast: number; readonly all: number }[];
  /** Answers that were not of the measured path, in all runs. */
  readonly others: number;
}

/** What a measurement has to show. */
interface Requirement {
  /** Microseconds by which the case PLANTED is slowed down; 0 if it is not. */
  readonly planted: number;
  /** Whether the planted difference has to be found. */
  readonly powerRequired: boolean;
}

/** The limit for two cases that are alike, in standard errors. */
const Z_MAX = 3;

/** Every case next to the reference, over all runs of one path. */
export function caseResults(runs: readonly Collection[]): readonly CaseResult[] {
  const names = [...(runs[0]?.times.keys() ?? [])];
  return names.map((name) => {
    const pairs = runs.map(({ times }) => {
      const [own, reference] = [times.get(name) ?? [], times.get(REFERENCE) ?? []];
      return { own: fastMean(own), reference: fastMean(reference), all: rankZ(own, reference) };
    });
    return {
      name,
      count: Math.min(...runs.map(({ times }) => times.get(name)?.length ?? 0)),
      fastMean: median(pairs.map(({ own }) => own.mean)),
      difference: median(pairs.map(({ own, reference }) => own.mean - reference.mean)),
      detectable: median(pairs.map(({ reference }) => detectableDifference(reference))),
      z: pairs.map(({ own, reference, all }) => ({ fast: standardErrorsAbove(own, reference), all })),
      others: sum(runs.map(({ others }) => others.get(name) ?? 0)),
    };
  });
}

/** Whether the case meets what is required of it; undefined if nothing is. */
export function passes(result: CaseResult, { planted, powerRequired }: Requirement): boolean | undefined {
  if (result.name === REFERENCE) return undefined;
  if (result.name !== PLANTED || planted === 0) return !isToldApart(result);
  return powerRequired ? isToldApart(result) && result.difference > 0 : undefined;
}

/** Whether it differs from the reference in most of the runs, as in two of three: in a single one it may by chance. */
function isToldApart({ z }: CaseResult): boolean {
  const alike = z.filter(({ fast, all }) => Math.abs(fast) < Z_MAX && Math.abs(all) < Z_MAX);
  return 2 * alike.length < z.length;
}

export function timingReport(results: readonly CaseResult[], requirement: Requirement): string {
  const verdict = { true: 'passed', false: 'FAILED', undefined: '' };
  return table(results, [
    ['refused', ({ name }) => (name === PLANTED ? `planted: ${requirement.planted} µs` : name)],
    ['n', ({ count }) => count],
    ['fast mean, µs', ({ fastMean: mean }) => mean, 1],
    ['difference, µs', ({ difference }) => difference, 1],
    ['found from, µs', ({ detectable }) => detectable, 1],
    ['z, fast answers', ({ z }) => z.map(({ fast }) => figure(fast, 1)).join(', ')],
    ['z, all responses', ({ z }) => z.map(({ all }) => figure(all, 1)).join(', ')],
    ['other responses', ({ others }) => others],
    ['', (result) => verdict[`${passes(result, requirement)}`]],
  ]);
}
