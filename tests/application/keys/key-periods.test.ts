import { describe, expect, it } from '@jest/globals';
import { InMemoryKeyDirectory } from '../../../adapters/memory/in-memory-key-directory.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

const ROTATION = 1000;
const PUBLICATION = 100;
const LIFETIME = 300;
const TIMES = { rotationSeconds: ROTATION, publicationSeconds: PUBLICATION, tokenLifetimeSeconds: LIFETIME };
const START = 1_800_000_000;

describe('the periods of keys', () => {
  it('tell since when and until when each key is published, signs, and is retired', async () => {
    const clock = new FixedClock(START);
    const ring = await freshKeyRing({ clock, ...TIMES });
    const [first] = ring.periods();
    expect(first).toEqual({
      kid: expect.any(String),
      alg: 'RS256',
      state: 'signing',
      from: START,
      until: START + ROTATION,
    });

    clock.advance(ROTATION - PUBLICATION);
    await ring.advance();
    const [, second] = ring.periods();
    expect(second).toEqual({
      kid: expect.any(String),
      alg: 'RS256',
      state: 'published',
      from: START + ROTATION - PUBLICATION,
      until: START + ROTATION,
    });

    clock.advance(PUBLICATION);
    await ring.advance();
    expect(ring.periods()).toEqual([
      { kid: first?.kid, alg: 'RS256', state: 'retired', from: START + ROTATION, until: START + ROTATION + LIFETIME },
      { kid: second?.kid, alg: 'RS256', state: 'signing', from: START + ROTATION, until: START + 2 * ROTATION },
    ]);
    clock.advance(LIFETIME);
    await ring.advance();
    expect(ring.periods().map(({ state }) => state)).toEqual(['signing']);
  });

  it('have no end without rotation', async () => {
    const ring = await freshKeyRing({ clock: new FixedClock(START) });
    expect(ring.periods()).toEqual([
      { kid: expect.any(String), alg: 'RS256', state: 'signing', from: START, until: null },
    ]);
  });

  it('are in the time of day', async () => {
    const clock = new FixedClock(5_000);
    clock.setWall(START);
    const ring = await freshKeyRing({ clock, ...TIMES });
    expect(ring.periods()).toMatchObject([{ from: START + 5_000, until: START + 5_000 + ROTATION }]);
  });

  it('name the keys of other replicas, of which only the end is known, and a first key that waits for its verifiers', async () => {
    const clock = new FixedClock(START);
    const directory = new InMemoryKeyDirectory(clock);
    const one = await freshKeyRing({ clock, directory, ...TIMES });
    const other = await freshKeyRing({ clock, directory, ...TIMES });
    const own = other.periods().find(({ state }) => state === 'published');
    expect(own).toMatchObject({ from: null, until: START + PUBLICATION });
    expect(other.periods().filter(({ state }) => state === 'trusted')).toEqual([
      { kid: one.periods()[0]?.kid, alg: 'RS256', state: 'trusted', from: null, until: expect.any(Number) },
    ]);
  });
});
