import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { expectHostileRequest, expectNextToken, expectUnharmed } from './expect-answers.ts';
import type { HostileRequest } from './hostile-request.ts';
import type { HostileService } from './hostile-service.ts';

/** Milliseconds. A busy machine may have to start a database server first. */
const START_MS_MAX = 300_000;

export type HostileRequests = Readonly<Record<string, readonly HostileRequest[]>>;

/** The suite of hostile requests against one service: each row, and after it a good request on a new connection. */
export function describeHostileRequests(
  name: string,
  start: () => Promise<HostileService>,
  groups: HostileRequests,
): void {
  describe(name, () => {
    let service: HostileService;
    const milliseconds: number[] = [];
    beforeAll(async () => {
      service = await start();
      await expectNextToken(service);
    }, START_MS_MAX);
    afterAll(async () => {
      await expectUnharmed(service);
      process.stdout.write(`${name}: ${report(milliseconds)}\n`);
    });

    describe.each(Object.entries(groups))('%s', (_group, rows) => {
      it.each(rows)('$name', async (row) => {
        await expectHostileRequest(service, row);
        milliseconds.push(await expectNextToken(service));
      });
    });
  });
}

/** How long good requests took. */
export function report(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((one, other) => one - other);
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))]?.toFixed(1);
  return `the next good request took ${at(0.5)} ms (median), ${at(0.99)} ms (p99), ${at(1)} ms (worst of ${sorted.length})`;
}
