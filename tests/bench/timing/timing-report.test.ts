import { describe, expect, it } from '@jest/globals';
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

function verdicts(runs: readonly Collection[], requirement = PLANTED) {
  return caseResults(runs).map((result) => passes(result, requirement));
}

describe('the verdicts of the timing benchmark', () => {
  it('require that a case does not differ, and that the planted difference is found', () => {
    expect(verdicts([run(0, 30)])).toEqual([undefined, true, true]);
    expect(verdicts([run(-30, 0)])).toEqual([undefined, false, false]);
  });

  it('see a difference that only slow answers have', () => {
    const equal = run(0, 30);
    const slow = times(500).map((time, place) => (place < 300 ? time : time + 30));
    expect(verdicts([{ ...equal, times: new Map([...equal.times, ['unknown id', slow]]) }])).toEqual([
      undefined,
      false,
      true,
    ]);
  });

  it('follow most of the runs', () => {
    expect(verdicts([run(0, 30), run(30, 0), run(0, 30)])).toEqual([undefined, true, true]);
    expect(verdicts([run(30, 0), run(0, 30), run(30, 0)])).toEqual([undefined, false, false]);
  });

  it('fail if a planted delay makes the case faster', () => {
    expect(verdicts([run(0, -30)])).toEqual([undefined, true, false]);
  });

  it('do not require that it is found where it need not be', () => {
    expect(verdicts([run(0, 0)], { planted: 30, powerRequired: false })).toEqual([undefined, true, undefined]);
  });

  it('treat the planted case like the others if nothing is planted', () => {
    expect(verdicts([run(0, 0)], { planted: 0, powerRequired: true })).toEqual([undefined, true, true]);
    expect(verdicts([run(0, 30)], { planted: 0, powerRequired: true })).toEqual([undefined, true, false]);
  });

  it('fail if there are no answers to compare', () => {
    const none = { ...run(0, 0), times: new Map<Case, readonly number[]>([['unknown id', []]]) };
    expect(verdicts([none])).toEqual([false]);
  });
});

describe('timingReport', () => {
  it('has a row for each case with the differences of all runs', () => {
    const runs = [run(-30, 30), run(-30, 30)];
    const [header, , , unknown, planted] = timingReport('401', caseResults(runs), PLANTED).split('\n').slice(2);
    expect(header).toMatch(/^\| refused .* found from, µs \| z, fast answers /);
    expect(unknown).toMatch(/^\| unknown id .* -30\.0 \|.* (-\d+\.\d), \1 \| .* 4 \| FAILED \|$/);
    expect(planted).toMatch(/^\| planted: 30 µs .* 30\.0 \| .* 0 \| passed \|$/);
  });
});
