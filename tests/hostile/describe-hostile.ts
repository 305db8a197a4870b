import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectHostileRequest, expectNextToken, expectUnharmed } from './expect-responses.ts';
import type { HostileRequests } from './hostile-request.ts';
import type { HostileService } from './hostile-service.ts';

/** Milliseconds. A busy machine may have to start a database server first. */
const START_MS_MAX = 300_000;

/** Requests of one group that are sent at once. */
const AT_ONCE = 16;

/**
 * The suite of hostile requests against one service. Each group is one test, whose requests are sent at once: that
 * takes a fifth of the time. After each group, a good request on a new connection gets its token.
 */
export function describeHostileRequests(
  name: string,
  start: () => Promise<HostileService>,
  groups: HostileRequests,
): void {
  describe(name, () => {
    let service: HostileService;
    beforeAll(async () => {
      service = await start();
      await expectNextToken(service);
    }, START_MS_MAX);
    afterAll(() => expectUnharmed(service));

    it.each(Object.entries(groups))('%s', async (_group, rows) => {
      const left = rows.values();
      const problems: string[] = [];
      const sender = async () => {
        for (const row of left) {
          await expectHostileRequest(service, row).catch(({ message }) => problems.push(`${row.name}: ${message}`));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, sender));
      expect(problems.join('\n')).toBe('');
      await expectNextToken(service);
    });
  });
}
