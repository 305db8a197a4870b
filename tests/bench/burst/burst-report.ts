import { figure, markdownTable, median, percentile } from '../report.ts';
import type { FirstRequests } from './first-requests.ts';

/** One burst on each of the two. */
export interface Burst {
  readonly connections: number;
  readonly ofService: FirstRequests;
  /** Of bare servers that only sign. */
  readonly ofLimit: FirstRequests;
}

/** How much longer than the limit the service may take at p99, in the median of the rounds. */
export const RATIO_MAX = 2;

/** Whether every request was answered, with a token or with 503, and at p99 within the limit's time times RATIO_MAX. */
export function passes(bursts: readonly Burst[]): boolean {
  const noFailures = bursts.every(({ ofService }) => ofService.failures === 0);
  return noFailures && sizesOf(bursts).every((rounds) => !(ratioOf(rounds) > RATIO_MAX));
}

/** One row for each number of connections, with medians over the rounds. */
export function burstReport(bursts: readonly Burst[]): string {
  const header = [
    'first requests at once',
    'p50 ms',
    'p99 ms',
    'p99 of each round',
    'p99 of the limit',
    'ratio',
    '503',
    'failures',
  ];
  const rows = sizesOf(bursts).map((rounds) => [
    figure(rounds[0]?.connections),
    figure(median(rounds.map(({ ofService }) => percentile(ofService.times, 50)))),
    figure(median(rounds.map(({ ofService }) => p99(ofService)))),
    rounds.map(({ ofService }) => figure(p99(ofService))).join(', '),
    figure(median(rounds.map(({ ofLimit }) => p99(ofLimit)))),
    figure(ratioOf(rounds), 2),
    figure(rounds.reduce((sum, { ofService }) => sum + ofService.refused, 0)),
    figure(rounds.reduce((sum, { ofService }) => sum + ofService.failures, 0)),
  ]);
  return markdownTable(header, rows);
}

/** The rounds of each number of connections. */
function sizesOf(bursts: readonly Burst[]): readonly (readonly Burst[])[] {
  return [...Map.groupBy(bursts, ({ connections }) => connections).values()];
}

/** Of p99 to that of the limit in the same round, the median. */
function ratioOf(rounds: readonly Burst[]): number {
  return median(rounds.map(({ ofService, ofLimit }) => p99(ofService) / p99(ofLimit)));
}

function p99({ times }: FirstRequests): number {
  return percentile(times, 99);
}
