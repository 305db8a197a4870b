import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { TableChange } from '../../../adapters/postgres/database-log.ts';
import { TableUnusable } from '../../../adapters/postgres/fault.ts';
import { TableHealth, type TableProbe } from '../../../adapters/postgres/table-health.ts';

const response = (code: string) => Object.assign(new Error('a message of the driver'), { code, severity: 'ERROR' });
const LOCKED = response('55P03');
const UNKNOWN = 'database unavailable: it cannot be used';
const MISSING = new TableUnusable({ code: 'table_missing', text: 'table clients does not exist', fix: 'migrate' });

/** A table that each probe finds in this state. */
class TestTable implements TableProbe {
  state: Error | undefined;
  /** Milliseconds at which the probes began. */
  readonly probedAt: number[] = [];
  /** Lets a probe end; undefined: it ends at once. */
  gate: Promise<void> | undefined;

  async prepare(): Promise<boolean> {
    return false;
  }

  async check(): Promise<void> {
    this.probedAt.push(performance.now());
    await this.gate;
    if (this.state !== undefined) throw this.state;
  }
}

let clients: TestTable;
let lines: TableChange[];
let health: TableHealth;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  clients = new TestTable();
  lines = [];
  health = new TableHealth(clients, (line) => lines.push(line));
});
afterEach(() => {
  health.close();
  jest.useRealTimers();
});

const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);
const clear = () => {
  clients.probedAt.length = 0;
};

describe('TableHealth that starts', () => {
  it('is ready when its table is well, and has no fault', async () => {
    await health.start();
    expect(health.readiness()).toEqual({ ready: true });
    expect(health.fault).toBeUndefined();
    expect(lines).toEqual([]);
  });

  it('fails with the problem of a table that it may not use', async () => {
    clients.state = MISSING;
    await expect(health.start()).rejects.toBe(MISSING);
  });

  it('goes on while the database cannot be reached, and probes until it can', async () => {
    clients.state = LOCKED;
    await health.start();
    const text = 'database unavailable: another session has locked a table (55P03)';
    expect(health.readiness()).toEqual({
      ready: false,
      reason: { code: '55P03', text, fix: expect.stringContaining('pg_blocking_pids') },
    });
    expect(health.fault).toBe(LOCKED);
    clients.state = undefined;
    await pass(10_000);
    expect(health.readiness()).toEqual({ ready: true });
    expect(lines).toEqual([{ event: 'database_unavailable', fault: LOCKED }, { event: 'database_available' }]);
  });
});

describe('TableHealth between its probes', () => {
  it('probes its table every two seconds', async () => {
    await health.start();
    clear();
    await pass(6_000);
    expect(clients.probedAt).toEqual([2_000, 4_000, 6_000]);
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
    await health.start();
    clients.state = fault;
    await pass(10_000);
    expect(health.readiness()).toMatchObject({ ready: false, reason: { text, fix: expect.any(String) } });
  });

  it('probes a table that may have changed every 250 ms', async () => {
    await health.start();
    clients.state = LOCKED;
    await pass(2_000);
    clear();
    await pass(1_000);
    expect(clients.probedAt).toEqual([2_250, 2_500, 2_750, 3_000]);
  });

  it('probes when a statement fails, at most every 250 ms', async () => {
    await health.start();
    clear();
    for (let time = 1; time <= 10; time += 1) {
      await pass(100);
      health.suspected();
      await pass(0);
    }
    // At 100 ms the round before was at 0.
    expect(clients.probedAt).toEqual([250, 500, 750, 1_000]);
    await pass(1_000);
    health.suspected();
    await pass(0);
    expect(clients.probedAt.at(-1)).toBe(2_000);
    expect(clients.probedAt.length).toBeLessThanOrEqual(6);
  });

  it('does not begin a round during another one, however long that takes', async () => {
    await health.start();
    clear();
    let open = () => {};
    clients.gate = new Promise((resolve) => {
      open = resolve;
    });
    health.suspected();
    await pass(250);
    health.suspected();
    await pass(10_000);
    expect(clients.probedAt).toEqual([250]);
    open();
    await pass(249);
    expect(clients.probedAt).toEqual([250]);
    clients.gate = undefined;
    // It was suspected meanwhile.
    await pass(1);
    expect(clients.probedAt).toEqual([250, 10_500]);
  });

  it('neither probes nor logs after the end, also when a probe is running', async () => {
    clients.state = LOCKED;
    await health.start();
    clear();
    lines = [];
    let open = () => {};
    clients.gate = new Promise((resolve) => {
      open = resolve;
    });
    clients.state = MISSING;
    await pass(1_000);
    expect(clients.probedAt).toHaveLength(1);
    health.close();
    open();
    health.suspected();
    await pass(60_000);
    expect({ probes: clients.probedAt.length, lines }).toEqual({ probes: 1, lines: [] });
  });

  it('does not probe again after the end between two rounds', async () => {
    await health.start();
    clear();
    health.close();
    await pass(60_000);
    expect(clients.probedAt).toEqual([]);
  });
});
