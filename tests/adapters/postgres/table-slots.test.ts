import { describe, expect, it } from '@jest/globals';
import { TableSlots, WAITING_MAX } from '../../../adapters/postgres/table-slots.ts';
import { until } from '../../support/until.ts';

/** A wait that no test reaches. */
const LONG_MS = 600_000;

/** Work that ends when the test says so, and what has begun. */
function work() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    /** Ends the oldest work that has not ended. */
    endOne: () => ends.shift()?.(),
    of: (name: string) => () =>
      new Promise<string>((resolve) => {
        begun.push(name);
        ends.push(() => resolve(name));
      }),
  };
}

describe('TableSlots', () => {
  it.each([
    { connections: 1, each: 1, together: 1 },
    { connections: 2, each: 1, together: 1 },
    { connections: 3, each: 1, together: 2 },
    { connections: 10, each: 8, together: 9 },
  ])(
    'lets one table hold $each and all tables $together of $connections connections',
    ({ connections, each, together }) => {
      const slots = new TableSlots(connections, LONG_MS, () => true);
      const { begun, of } = work();
      for (let time = 0; time < 20; time += 1) void slots.hold('locked', of('locked'));
      expect(begun).toHaveLength(each);
      for (let time = 0; time < 20; time += 1) void slots.hold('other', of('other'));
      expect(begun).toHaveLength(together);
    },
  );

  it('gives a slot that becomes free to the statement that has waited longest and may take it', async () => {
    const slots = new TableSlots(3, LONG_MS, () => true);
    const { begun, endOne, of } = work();
    const names = ['locked 1', 'locked 2', 'locked 3', 'other 1', 'other 2'];
    const done = names.map((name) => slots.hold(name.slice(0, -2), of(name)));
    expect(begun).toEqual(['locked 1', 'other 1']);
    endOne();
    expect(await done[0]).toBe('locked 1');
    await until(() => begun.length === 3, 'the next one has begun');
    expect(begun).toEqual(['locked 1', 'other 1', 'locked 2']);
    endOne();
    expect(await done[3]).toBe('other 1');
    await until(() => begun.length === 4, 'the next one has begun');
    expect(begun).toEqual(['locked 1', 'other 1', 'locked 2', 'other 2']);
    endOne();
    expect(await done[1]).toBe('locked 2');
    await until(() => begun.length === 5, 'the next one has begun');
    expect(begun.at(-1)).toBe('locked 3');
  });

  it('lets a table that is not well hold one connection, and the others as many as before', () => {
    const slots = new TableSlots(10, LONG_MS, (table) => table !== 'locked');
    const { begun, of } = work();
    for (let time = 0; time < 20; time += 1) void slots.hold('locked', of('locked'));
    expect(begun).toEqual(['locked']);
    for (let time = 0; time < 20; time += 1) void slots.hold('other', of('other'));
    expect(begun).toHaveLength(9);
  });

  it('frees the slot of work that fails', async () => {
    const slots = new TableSlots(1, LONG_MS, () => true);
    for (let time = 0; time < 3; time += 1) {
      await expect(slots.hold('table', () => Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
    }
    expect(await slots.hold('table', async () => 'done')).toBe('done');
  });

  it('refuses at once when as many wait for a table as may, counts them, and lets others wait for theirs', async () => {
    const slots = new TableSlots(2, LONG_MS, () => true);
    const { of } = work();
    const hold = (table: string) => slots.hold(table, of(table));
    for (let count = 0; count < WAITING_MAX + 1; count += 1) void hold('locked');
    expect(slots.load('locked')).toEqual({ open: 1, max: 1, idle: 0, waiting: WAITING_MAX });
    expect(slots.load('other')).toEqual({ open: 0, max: 1, idle: 0, waiting: 0 });
    await expect(hold('locked')).rejects.toThrow(`${WAITING_MAX} statements already wait for the table locked`);
    void hold('other');
    expect(slots.load('locked').waiting).toBe(WAITING_MAX);
    expect(slots.load('other').waiting).toBe(1);
  });

  it('waits for a slot no longer than it may, and then takes none', async () => {
    const slots = new TableSlots(2, 20, () => true);
    const { begun, endOne, of } = work();
    const first = slots.hold('table', of('first'));
    await expect(slots.hold('table', of('second'))).rejects.toThrow(
      'no statement on the table table ended within 20 ms',
    );
    endOne();
    await first;
    expect(begun).toEqual(['first']);
    expect(slots.load('table')).toMatchObject({ open: 0, waiting: 0 });
    const third = slots.hold('table', of('third'));
    await until(() => begun.includes('third'), 'the slot is free');
    endOne();
    expect(await third).toBe('third');
  });
});
