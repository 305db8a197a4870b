import { describe, expect, it } from '@jest/globals';
import { NoteLastUsed } from '../../application/last-used/note-last-used.ts';
import { FixedClock } from '../support/fixed-clock.ts';

const DAY = 86_400;

function noting(max?: number) {
  const clock = new FixedClock(100 * DAY + 5);
  const written: (readonly [ReadonlyMap<string, number>, number])[] = [];
  let isAway = false;
  const store = {
    async record(days: ReadonlyMap<string, number>, today: number) {
      if (isAway) throw new Error('away');
      written.push([new Map(days), today]);
    },
  };
  const note = new NoteLastUsed(store, clock, max);
  const setAway = (away: boolean) => {
    isAway = away;
  };
  return { note, clock, written, setAway };
}

describe('NoteLastUsed', () => {
  it('writes the last day of each client once, and nothing for a token itself', async () => {
    const { note, clock, written } = noting();
    note.note('a');
    note.note('b');
    clock.advance(DAY);
    note.note('a');
    expect([written, note.noted]).toEqual([[], 2]);
    await note.write();
    expect(written).toEqual([
      [
        new Map([
          ['a', 101],
          ['b', 100],
        ]),
        101,
      ],
    ]);
    expect(note.noted).toBe(0);
  });

  it('keeps what could not be written, with the later day, until the next write', async () => {
    const { note, clock, written, setAway } = noting();
    note.note('a');
    note.note('b');
    setAway(true);
    const failing = note.write();
    clock.advance(DAY);
    note.note('a');
    await expect(failing).rejects.toThrow('away');
    setAway(false);
    await note.write();
    expect(written).toEqual([
      [
        new Map([
          ['a', 101],
          ['b', 100],
        ]),
        101,
      ],
    ]);
  });

  it('keeps no more clients than its bound, also after a fault', async () => {
    const { note, setAway, written } = noting(2);
    for (const id of ['a', 'b', 'c', 'a']) note.note(id);
    expect(note.noted).toBe(2);
    setAway(true);
    const failing = note.write();
    note.note('d');
    await expect(failing).rejects.toThrow('away');
    expect(note.noted).toBe(2);
    setAway(false);
    await note.close();
    expect(written.map(([days]) => [...days.keys()])).toEqual([['d', 'a']]);
  });

  it('notes at its start since when it records, and writes at its end only what is new', async () => {
    const { note, written } = noting();
    note.start();
    await note.close();
    expect(written).toEqual([[new Map(), 100]]);
  });
});
