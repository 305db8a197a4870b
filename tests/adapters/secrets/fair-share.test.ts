import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairShare, FLOWS_MAX } from '../../../adapters/secrets/fair-share.ts';

/** The next of these flows. */
function next<Flow>(share: FairShare<Flow>, waiting: readonly Flow[]): Flow | undefined {
  share.moveOn(waiting);
  return waiting.toSorted((one, other) => share.compare(one, other))[0];
}

describe('FairShare', () => {
  it('gives flows that always wait equal shares of the work, up to the size of the largest pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 6 }), (pieces) => {
        const share = new FairShare<number>();
        const done = pieces.map(() => 0);
        const flows = [...pieces.keys()];
        for (let round = 0; round < 500; round += 1) {
          const flow = next(share, flows) ?? -1;
          const work = pieces[flow] ?? 0;
          share.charge(flow, work);
          done[flow] = (done[flow] ?? 0) + work;
        }
        expect(Math.max(...done) - Math.min(...done)).toBeLessThanOrEqual(2 * Math.max(...pieces));
      }),
    );
  });

  it('does not let a flow save up its share while it is idle', () => {
    const share = new FairShare<string>();
    for (let round = 0; round < 10; round += 1) share.charge(next(share, ['busy']) ?? '', 1);
    const order = Array.from({ length: 4 }, () => {
      const flow = next(share, ['busy', 'back']) ?? '';
      share.charge(flow, 1);
      return flow;
    });
    expect(order.filter((flow) => flow === 'back').length).toBeLessThanOrEqual(2);
  });

  it('lets no flow get ahead by leaving between two pieces of work', () => {
    const share = new FairShare<string>();
    share.charge('a', 1);
    share.charge('expensive', 100);
    expect(next(share, ['expensive', 'b'])).toBe('b');
  });

  it('prefers, among flows that are due, one that had no work, then the one whose last work is longest ago', () => {
    const share = new FairShare<string>();
    for (const flow of ['a', 'b', 'a', 'b']) share.charge(flow, 1);
    share.charge('c', 1);
    for (let round = 0; round < 10; round += 1) share.charge(next(share, ['busy']) ?? '', 1);
    expect(next(share, ['a', 'c', 'new'])).toBe('new');
    expect(next(share, ['b', 'a', 'c'])).toBe('c');
  });

  it('forgets the oldest work beyond its greatest number of flows', () => {
    const share = new FairShare<string>(2);
    for (const flow of ['a', 'b', 'a', 'c']) share.charge(flow, 1);
    expect(share.size).toBe(2);
    expect(next(share, ['a', 'c', 'b'])).toBe('b');
  });

  it('selects no flow if none waits', () => {
    expect(next(new FairShare<string>(), [])).toBeUndefined();
  });

  it('remembers the work of 10,000 flows if nobody says of how many', () => {
    const share = new FairShare<number>();
    for (let flow = 0; flow < 10_010; flow += 1) share.charge(flow, 1);
    expect([share.size, FLOWS_MAX]).toEqual([10_000, 10_000]);
  });

  it('prefers a flow that had no work to one that had, and a flow to itself not', () => {
    const share = new FairShare<string>();
    share.charge('a', 1);
    share.moveOn(['a']);
    expect(Math.sign(share.compare('new', 'a'))).toBe(-1);
    expect(Math.sign(share.compare('a', 'new'))).toBe(1);
    expect(share.compare('a', 'a')).toBe(0);
  });

  it('keeps the time while nobody waits', () => {
    const share = new FairShare<string>();
    share.charge('a', 5);
    share.moveOn([]);
    share.charge('b', 1);
    expect(next(share, ['a', 'b'])).toBe('b');
  });
});
