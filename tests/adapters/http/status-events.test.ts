import { describe, expect, it } from '@jest/globals';
import { EVENTS_MAX, StatusEvents } from '../../../adapters/http/status-page/status-events.ts';
import type { CheckState } from '../../../application/ports/health-check.ts';

const READY: CheckState = { name: 'client repository', ready: true };
const LOST: CheckState = { name: 'client repository', ready: false, reason: 'database unavailable (ECONNREFUSED)' };

/** A service that is observed every second. */
function world() {
  const events = new StatusEvents();
  let at = 100;
  return {
    events,
    see(more: Partial<Parameters<StatusEvents['observe']>[1]> = {}) {
      at += 1;
      events.observe(at, { checks: [READY], keys: [{ kid: 'a', state: 'signing' }], ...more });
      return events.latestFirst.map(({ subject, text }) => `${subject}: ${text}`);
    },
  };
}

describe('the events of the status', () => {
  it('say that the database was lost and is back, once each, with the time', () => {
    const { events, see } = world();
    expect(see()).toEqual([]);
    for (let count = 0; count < 3; count += 1) see({ checks: [LOST] });
    see();
    expect(events.latestFirst).toEqual([
      { at: 105, subject: 'client repository', text: 'ready' },
      { at: 102, subject: 'client repository', text: 'not ready: database unavailable (ECONNREFUSED)' },
    ]);
  });

  it('say that a clock is off, once, although its figure changes all the time', () => {
    const { see } = world();
    see();
    const off = (offset: string): CheckState => ({ name: 'signing key', ready: true, note: `${offset} s ahead` });
    see({ checks: [READY, off('2.1')] });
    expect(see({ checks: [READY, off('2.2')] })).toEqual(['signing key: 2.1 s ahead']);
  });

  it('say that another key signs', () => {
    const { see } = world();
    see();
    const keys = [{ kid: 'a', state: 'retired' } as const, { kid: 'b', state: 'signing' } as const];
    expect(see({ keys })).toEqual(['key: b signs']);
  });

  it('are at most 20: the oldest one is dropped', () => {
    const { events, see } = world();
    see();
    for (let count = 0; count < EVENTS_MAX; count += 1) see({ checks: [count % 2 === 0 ? LOST : READY] });
    const full = events.latestFirst;
    expect(full).toHaveLength(20);
    see({ keys: [] });
    expect(events.latestFirst).toHaveLength(EVENTS_MAX);
    expect(events.latestFirst.slice(1)).toEqual(full.slice(0, -1));
    expect(events.latestFirst[0]).toMatchObject({ text: 'no key signs' });
  });
});
