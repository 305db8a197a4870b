import { expect, it } from '@jest/globals';
import type { Collection } from './collect-samples.ts';
import type { Case } from './timing-cases.ts';
import { caseResults, passes, timingReport } from './timing-report.ts';

const PLANTED = { planted: 30, powerRequired: true };

/** 1,000 times, evenly spread over 100 µs. */
function times(from: number): readonly number[] {
  return Array.from({ length: 1_000 }, (_, n) => from + n / 10);
}

/** A run in which an unknown id and the case with the planted delay differ by so many microseconds from a wrong secret. */
function run(unknown: number, planted: number): Collection {
  return {
    times: new Map<Case, readonly number[]>([
      ['wrong secret', times(500)],
      ['unknown id', times(500 + unknown)],
      ['planted delay', times(500 + planted)],
    ]),
    others: new Map<Case, number>([['unknown id', 2]]),
  };
}

/** An unknown id differs only where answers are slow. */
const SLOW = times(500).map((time, place) => (place < 300 ? time : time + 30));
const SLOW_DIFFERS = { ...run(0, 30), times: new Map([...run(0, 30).times, ['unknown id', SLOW] as const]) };

it.each<[string, readonly Collection[], typeof PLANTED, readonly (boolean | undefined)[]]>([
  ['a case does not differ, and the planted difference is found', [run(0, 30)], PLANTED, [undefined, true, true]],
  ['a case differs, and the planted difference is not found', [run(-30, 0)], PLANTED, [undefined, false, false]],
  ['only slow answers of a case differ', [SLOW_DIFFERS], PLANTED, [undefined, false, true]],
  ['one run of three differs', [run(0, 30), run(30, 0), run(0, 30)], PLANTED, [undefined, true, true]],
  ['two runs of three differ', [run(30, 0), run(0, 30), run(30, 0)], PLANTED, [undefined, false, false]],
  ['the planted delay makes the case faster', [run(0, -30)], PLANTED, [undefined, true, false]],
  ['it need not be found', [run(0, 0)], { planted: 30, powerRequired: false }, [undefined, true, undefined]],
  ['nothing is planted', [run(0, 0)], { planted: 0, powerRequired: true }, [undefined, true, true]],
  ['nothing is planted, and the case differs', [run(0, 30)], { ...PLANTED, planted: 0 }, [undefined, true, false]],
  ['there are no answers', [{ ...run(0, 0), times: new Map([['unknown id', []]]) }], PLANTED, [false]],
])('judges the times of refusals if %s', (_, runs, requirement, verdicts) => {
  expect(caseResults(runs).map((result) => passes(result, requirement))).toEqual(verdicts);
});

it('reports a row for each case with the differences of all runs', () => {
  const runs = [run(-30, 30), run(-30, 30)];
  const [header, , , unknown, planted] = timingReport(caseResults(runs), PLANTED).split('\n');
  expect(header).toMatch(/^\| refused .* found from, µs \| z, fast answers /);
  expect(unknown).toMatch(/^\| unknown id .* -30\.0 \|.* (-\d+\.\d), \1 \| .* 4 \| FAILED \|$/);
  expect(planted).toMatch(/^\| planted: 30 µs .* 30\.0 \| .* 0 \| passed \|$/);
});
