import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectHostileRequest, expectNextToken } from './expect-answers.ts';
import type { HostileRequest } from './hostile-request.ts';
import { type HostileService, SECRETS } from './hostile-service.ts';

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
    });
    afterAll(async () => {
      const printed = service.printed();
      const isAlive = service.isAlive();
      await service[Symbol.asyncDispose]();
      process.stdout.write(`${name}: ${report(milliseconds)}\n`);
      expect(isAlive).toBe(true);
      expect(printed).not.toMatch(SECRETS);
      expect(printed).not.toMatch(/"stack"|"level":"error"|worker_(exited|unresponsive)/);
    });

    describe.each(Object.entries(groups))('%s', (_group, rows) => {
      it.each(rows)('$name', async (row) => {
        await expectHostileRequest(service, row);
        milliseconds.push(await expectNextToken(service));
      });
    });
  });
}

function report(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((one, other) => one - other);
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))]?.toFixed(1);
  return `the next good request took ${at(0.5)} ms (median), ${at(0.99)} ms (p99), ${at(1)} ms (worst of ${sorted.length})`;
}
