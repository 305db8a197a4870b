import { describe, expect, it } from '@jest/globals';
import { type Burst, burstReport, passes } from './burst-report.ts';

/** A burst in which all requests took this many milliseconds. */
function burst(connections: number, service: number, limit: number, failures = 0, refused = 0): Burst {
  return {
    connections,
    ofService: { times: Array(connections).fill(service), refused, failures },
    ofLimit: { times: Array(connections).fill(limit), refused: 0, failures: 0 },
  };
}

describe('a burst of first requests', () => {
  it('is reported with the medians of its rounds, next to the limit', () => {
    const bursts = [burst(2, 30, 20), burst(4, 90, 50), burst(2, 50, 20), burst(4, 70, 50, 0, 1), burst(2, 40, 20)];
    const rows = burstReport(bursts).split('\n').slice(2);
    const cells = rows.map((row) =>
      row
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
    expect(cells).toEqual([
      ['2', '40', '40', '30, 50, 40', '20', '2.00', '0', '0'],
      ['4', '80', '80', '90, 70', '50', '1.60', '1', '0'],
    ]);
  });

  it.each<[string, boolean, readonly Burst[]]>([
    ['at twice the limit', true, [burst(2, 40, 20)]],
    ['beyond it', false, [burst(2, 41, 20)]],
    ['beyond it in one round of three', true, [burst(2, 90, 20), burst(2, 30, 20), burst(2, 30, 20)]],
    ['beyond it with one number of connections', false, [burst(2, 30, 20), burst(4, 90, 20)]],
    ['with a request that got 503', true, [burst(2, 30, 20, 0, 1)]],
    ['with a request that got no answer', false, [burst(2, 30, 20, 1)]],
  ])('%s: passes %s', (_, expected, bursts) => {
    expect(passes(bursts)).toBe(expected);
  });
});
