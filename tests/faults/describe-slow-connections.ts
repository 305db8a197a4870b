import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectNextToken, expectResponses, expectUnharmed } from '../hostile/expect-responses.ts';
import type { HostileService } from '../hostile/hostile-service.ts';
import { openRawExchange, readResponses } from '../hostile/raw-exchange.ts';
import { until } from '../support/until.ts';
import type { SlowConnection } from './slow-connections.ts';

/** How often a slow client sends its next byte, in milliseconds. */
const BYTE_EVERY_MS = 500;

interface Ended {
  readonly afterMs: number;
  readonly received: string;
}

async function run(service: HostileService, row: SlowConnection): Promise<Ended> {
  const { bytes, trickle, atLast, answers } = row;
  const begin = performance.now();
  const exchange = openRawExchange(service.port, row.isWithoutTls ? 'plain' : service.security);
  if (bytes !== '') exchange.write(bytes);
  if (atLast === 'ends') exchange.end();
  if (atLast === 'resets') {
    await until(() => readResponses(exchange.received()).length >= answers.length, 'the responses arrive');
    setTimeout(() => exchange.reset(), BYTE_EVERY_MS);
  }
  const timer = setInterval(() => trickle !== undefined && exchange.write(trickle), BYTE_EVERY_MS);
  await exchange.closed;
  clearInterval(timer);
  const afterMs = performance.now() - begin;
  await expectNextToken(service);
  return { afterMs, received: exchange.received() };
}

/** The slow connections to a service of their own. */
interface Begun {
  readonly service: HostileService;
  readonly ended: Promise<ReadonlyMap<string, Ended>>;
}

/** All of them at once, with the service's own limits: 10 s for a header section and 15 s for a request. */
async function begin(start: () => Promise<HostileService>, rows: readonly SlowConnection[]): Promise<Begun> {
  const service = await start();
  const runs = rows.map(async (row) => [row.name, await run(service, row)] as const);
  const ended = Promise.all(runs).then((entries) => new Map(entries));
  // The test that awaits these results reports a fault.
  ended.catch(() => {});
  return { service, ended };
}

/**
 * The suite of slow connections. They begin before all tests of the file, so that the other tests of it run meanwhile.
 */
export function describeSlowConnections(
  name: string,
  start: () => Promise<HostileService>,
  rows: readonly SlowConnection[],
): void {
  let begun: Begun;
  beforeAll(async () => {
    begun = await begin(start, rows);
  });

  describe(name, () => {
    let ended: ReadonlyMap<string, Ended>;
    beforeAll(async () => {
      ended = await begun.ended;
    });
    afterAll(() => expectUnharmed(begun.service));

    it.each(rows)('$name', async ({ name, answers, endsAfterMs }) => {
      const { afterMs = 0, received = '' } = ended.get(name) ?? {};
      await expectResponses(begun.service, readResponses(received), answers);
      // The limits are not exact on a busy machine, but no connection ends before them.
      expect(afterMs).toBeGreaterThanOrEqual(endsAfterMs);
    });
  });
}
