import { beforeEach, describe, expect, it } from '@jest/globals';
import type { TableChange } from '../../../adapters/postgres/database-log.ts';
import { TableUnusable } from '../../../adapters/postgres/fault.ts';
import { TableHealth } from '../../../adapters/postgres/table-health.ts';

const LOCKED = Object.assign(new Error('canceling statement due to lock timeout'), {
  code: '55P03',
  severity: 'ERROR',
});
const UNUSABLE = new TableUnusable({ code: 'column_missing', text: 'table clients lacks the column scope' });
const WELL = undefined;

/** What the next probe finds, and how long it takes. */
let outcome: Error | undefined;
let probeMs: number;
let prepared: boolean | Error;
let milliseconds: number;
let lines: TableChange[];
/** Of each check, whether a fault was suspected. */
let checks: (boolean | undefined)[];
let prepares: number;
let health: TableHealth;

beforeEach(() => {
  [outcome, probeMs, prepared, milliseconds, lines, checks, prepares] = [WELL, 0, false, 0, [], [], 0];
  health = new TableHealth(
    {
      async prepare() {
        prepares += 1;
        if (prepared instanceof Error) throw prepared;
        return prepared;
      },
      async check(isSuspected) {
        checks.push(isSuspected);
        milliseconds += probeMs;
        if (outcome !== undefined) throw outcome;
      },
    },
    (line) => lines.push(line),
    () => milliseconds,
  );
});

/** Probes with this outcome now, and then whenever a probe is due, for so many milliseconds. Returns how many were made. */
async function probe(found: Error | undefined, forMs = 0): Promise<number> {
  outcome = found;
  const end = milliseconds + forMs;
  for (let count = 1; ; count += 1) {
    await health.probe();
    if (milliseconds + health.intervalMs > end) return count;
    milliseconds += health.intervalMs;
  }
}

const events = () => lines.map(({ event }) => event);

describe('TableHealth of a table that is well', () => {
  beforeEach(() => probe(WELL).then(() => {}));

  it('is probed every two seconds and says nothing', async () => {
    expect(health.intervalMs).toBe(2_000);
    expect(await probe(WELL, 60_000)).toBe(31);
    expect(lines).toEqual([]);
    expect(health).toMatchObject({ isThere: true, intervalMs: 2_000, fault: undefined });
  });

  it('is well through faults of less than three seconds, one after the other', async () => {
    for (let time = 0; time < 100; time += 1) {
      await probe(LOCKED, 2_900);
      expect(health).toMatchObject({ intervalMs: 250, fault: undefined });
      await probe(WELL);
      expect(health.intervalMs).toBe(2_000);
      milliseconds += 100;
    }
    expect(lines).toEqual([]);
  });

  it('fails from when every probe of three seconds has failed, counted from when the first one began', async () => {
    probeMs = 1_000;
    const begin = milliseconds;
    await probe(LOCKED, 1_999);
    expect(health.fault).toBeUndefined();
    while (health.fault === undefined) await probe(LOCKED);
    expect(milliseconds - begin).toBeLessThanOrEqual(4_250);
    expect(lines).toEqual([{ event: 'database_unavailable', fault: LOCKED }]);
  });

  it('is probed four times a second while a fault may pass, and every second when it has lasted', async () => {
    await probe(LOCKED);
    expect(health.intervalMs).toBe(250);
    await probe(LOCKED, 3_000);
    expect(health.intervalMs).toBe(1_000);
  });

  it('can be used again after three successful probes in half a second', async () => {
    await probe(LOCKED, 10_000);
    await probe(WELL);
    expect(health.fault).toBe(LOCKED);
    expect(await probe(WELL, 250)).toBe(2);
    expect(health.fault).toBeUndefined();
  });

  it('cannot be used again if one of these probes fails', async () => {
    await probe(LOCKED, 10_000);
    await probe(WELL, 250);
    await probe(LOCKED);
    await probe(WELL, 250);
    expect(health.fault).toBe(LOCKED);
    await probe(WELL);
    expect(health.fault).toBeUndefined();
  });

  it('has one line for each state that lasts, however often the others come and go', async () => {
    await probe(LOCKED, 10_000);
    for (let time = 0; time < 100; time += 1) {
      await probe(WELL, 2_900);
      await probe(LOCKED, 4_000);
    }
    expect(events()).toEqual(['database_unavailable']);
    await probe(WELL, 2_900);
    expect(events()).toEqual(['database_unavailable']);
    milliseconds += 250;
    await probe(WELL);
    expect(events()).toEqual(['database_unavailable', 'database_available']);
    await probe(LOCKED, 10_000);
    expect(events()).toEqual(['database_unavailable', 'database_available', 'database_unavailable']);
  });

  it('reports another problem of the table when it finds it, and the same one once', async () => {
    await probe(LOCKED, 10_000);
    await probe(UNUSABLE, 10_000);
    expect(lines).toEqual([
      { event: 'database_unavailable', fault: LOCKED },
      { event: 'table_unusable', problem: UNUSABLE.message },
    ]);
    expect(health.fault).toBe(UNUSABLE);
  });

  it('shows no value that a caller sent', async () => {
    const fault = Object.assign(new Error('invalid input: "a secret"'), { code: '22P02', severity: 'ERROR' });
    await probe(fault, 10_000);
    expect(String(health.fault)).toBe('Error: the database refused a value');
  });

  it('is probed at once when a statement has failed, and as suspected until it is well', async () => {
    health.suspected();
    expect(health.intervalMs).toBe(0);
    checks.length = 0;
    await probe(WELL, 4_000);
    expect(checks).toEqual([true, false, false]);
    expect(health.fault).toBeUndefined();
    checks.length = 0;
    await probe(LOCKED, 4_000);
    expect(checks.shift()).toBe(false);
    await probe(WELL, 500);
    expect(new Set(checks)).toEqual(new Set([true]));
    expect(health.fault).toBeUndefined();
  });

  it('is not prepared again when it disappears', async () => {
    prepared = true;
    await probe(new TableUnusable({ code: 'table_missing', text: 'table clients does not exist' }), 10_000);
    expect({ prepares, isThere: health.isThere }).toEqual({ prepares: 1, isThere: true });
  });
});

describe('TableHealth at startup', () => {
  it('fails at once if the table cannot be used, since nothing can be lost', async () => {
    await probe(LOCKED);
    expect(health.fault).toBe(LOCKED);
    expect(events()).toEqual(['database_unavailable']);
  });

  it('prepares the table when the database answers first, and only then', async () => {
    prepared = LOCKED;
    await probe(WELL, 5_000);
    expect(health).toMatchObject({ isThere: false, fault: LOCKED });
    expect(checks).toEqual([]);
    prepared = true;
    await probe(WELL, 5_000);
    expect(health).toMatchObject({ isThere: true, fault: undefined });
    expect(events()).toEqual(['database_unavailable', 'table_created', 'database_available']);
  });
});
