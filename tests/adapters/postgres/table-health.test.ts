import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { TableChange } from '../../../adapters/postgres/database-log.ts';
import { TableUnusable } from '../../../adapters/postgres/fault.ts';
import { TableHealth } from '../../../adapters/postgres/table-health.ts';

const response = (code: string) => Object.assign(new Error('a message of the driver'), { code, severity: 'ERROR' });
const LOCKED = response('55P03');
const UNKNOWN = 'database unavailable: it cannot be used';
const MISSING = new TableUnusable({ code: 'table_missing', text: 'table clients does not exist', fix: 'migrate' });
const HOW_TO_UNLOCK = expect.stringContaining('pg_blocking_pids');
const WELL = undefined;

/** What each probe finds, and what it waits for; undefined: it ends at once. */
let outcome: Error | undefined;
let gate: Promise<void> | undefined;
let prepared: boolean | Error;
let prepares: number;
/** Milliseconds at which the checks began. */
let checkedAt: number[];
let lines: TableChange[];
let health: TableHealth;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  [outcome, gate, prepared, prepares, checkedAt, lines] = [WELL, undefined, false, 0, [], []];
  health = new TableHealth(
    {
      async prepare() {
        prepares += 1;
        if (prepared instanceof Error) throw prepared;
        return prepared;
      },
      async check() {
        checkedAt.push(performance.now());
        await gate;
        if (outcome !== undefined) throw outcome;
      },
    },
    (line) => lines.push(line),
  );
});
afterEach(() => {
  health.close();
  jest.useRealTimers();
});

/** From now on probes find this, for so many milliseconds. */
async function find(found: Error | undefined, milliseconds: number): Promise<void> {
  outcome = found;
  await jest.advanceTimersByTimeAsync(milliseconds);
}

describe('TableHealth that starts', () => {
  it('is ready when its table is well, and has no fault', async () => {
    await health.start();
    expect(health.readiness()).toEqual({ ready: true });
    expect(lines).toEqual([]);
  });

  it('fails with the problem of a table that it may not use', async () => {
    outcome = MISSING;
    await expect(health.start()).rejects.toBe(MISSING);
  });

  it('goes on while the database cannot be reached, and probes until it can', async () => {
    outcome = LOCKED;
    await health.start();
    const text = 'database unavailable: another session has locked a table (55P03)';
    const reason = { code: '55P03', text, fix: HOW_TO_UNLOCK };
    expect(health.readiness()).toEqual({ ready: false, reason });
    await find(WELL, 1_000);
    expect(health.readiness()).toEqual({ ready: true });
    expect(lines).toEqual([
      { event: 'database_unavailable', fix: HOW_TO_UNLOCK, fault: LOCKED },
      { event: 'database_available' },
    ]);
  });

  it('prepares the table when the database answers first, and only then, and not again when it disappears', async () => {
    prepared = LOCKED;
    await health.start();
    await find(WELL, 5_000);
    expect(health).toMatchObject({ isThere: false, fault: LOCKED });
    expect(checkedAt).toEqual([]);
    prepared = true;
    await find(WELL, 1_000);
    expect(health).toMatchObject({ isThere: true, fault: undefined });
    expect(lines.map(({ event }) => event)).toEqual(['database_unavailable', 'table_created', 'database_available']);
    const before = prepares;
    await find(MISSING, 10_000);
    expect({ prepares, isThere: health.isThere }).toEqual({ prepares: before, isThere: true });
  });
});

describe('TableHealth of a table that is well', () => {
  beforeEach(() => health.start());

  it('probes it every second, one probe after the other', async () => {
    checkedAt.length = 0;
    await find(WELL, 3_000);
    expect(checkedAt).toEqual([1_000, 2_000, 3_000]);
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    await find(WELL, 10_000);
    expect(checkedAt).toHaveLength(4);
    open();
    await find(WELL, 1_000);
    expect(checkedAt).toHaveLength(5);
  });

  it('is well through faults of less than three seconds, one after the other', async () => {
    for (let time = 0; time < 20; time += 1) {
      await find(LOCKED, 3_000);
      expect(health.fault).toBeUndefined();
      await find(WELL, 1_000);
    }
    expect(lines).toEqual([]);
  });

  it('is not ready from when every probe of three seconds has failed until one succeeds, with a line for each', async () => {
    for (let time = 0; time < 2; time += 1) {
      await find(LOCKED, 4_000);
      expect(health.fault).toBe(LOCKED);
      await find(LOCKED, 10_000);
      await find(WELL, 1_000);
      expect(health.fault).toBeUndefined();
    }
    const [begin, end] = [
      { event: 'database_unavailable', fix: HOW_TO_UNLOCK, fault: LOCKED },
      { event: 'database_available' },
    ];
    expect(lines).toEqual([begin, end, begin, end]);
  });

  it('reports another problem of the table when it finds it, and the same one once', async () => {
    await find(LOCKED, 10_000);
    await find(MISSING, 10_000);
    expect(lines).toEqual([
      { event: 'database_unavailable', fix: HOW_TO_UNLOCK, fault: LOCKED },
      { event: 'table_unusable', problem: MISSING.message },
    ]);
    expect(health.fault).toBe(MISSING);
  });

  it('shows no value that a caller sent', async () => {
    const fault = Object.assign(new Error('invalid input: "a secret"'), { code: '22P02', severity: 'ERROR' });
    await find(fault, 10_000);
    expect(String(health.fault)).toBe('Error: the database refused a value');
  });

  it.each([
    ['an error without a code', new Error('secret'), UNKNOWN],
    ['an error whose code is a number', Object.assign(new Error('secret'), { code: 7 }), UNKNOWN],
    ['what is no error', { code: 'secret' } as unknown as Error, UNKNOWN],
    [
      'an error of the network',
      Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }),
      'database unavailable: nothing listens there (ECONNREFUSED)',
    ],
    [
      'a timeout of the driver',
      new Error('timeout exceeded when trying to connect'),
      'database unavailable: the server does not answer in time',
    ],
    ['no connection left', response('53300'), 'database unavailable: no connection is left (53300)'],
    ['the problem of a table', MISSING, MISSING.problem.text],
  ])('says why it is not ready, without the message of a library: %s', async (_what, fault, text) => {
    await find(fault, 10_000);
    expect(health.readiness()).toMatchObject({ ready: false, reason: { text, fix: expect.any(String) } });
  });

  it('neither probes nor logs after the end, also when a probe is running', async () => {
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    await find(MISSING, 1_000);
    const probes = checkedAt.length;
    health.close();
    open();
    await find(MISSING, 60_000);
    expect({ probes: checkedAt.length, lines }).toEqual({ probes, lines: [] });
  });
});
