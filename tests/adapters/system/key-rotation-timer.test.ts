import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { InMemoryKeyDirectory } from '../../../adapters/memory/in-memory-key-directory.ts';
import { type KeyDirectoryEvent, KeyRotationTimer } from '../../../adapters/system/key-rotation-timer.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { DirectoryAnswer, SharedKey } from '../../../application/ports/key-directory.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing, unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { until } from '../../support/until.ts';

/** A directory that can become unavailable. */
class SwitchedDirectory extends InMemoryKeyDirectory {
  available = true;
  publications = 0;
  /** How long a publication takes. */
  delayMs = 0;
  /** By how much the replica's clock is ahead of this directory's. */
  offsetSeconds = 0;
  readonly #clock: FixedClock;

  constructor(clock = new FixedClock()) {
    super(clock);
    this.#clock = clock;
  }

  override async read(): Promise<DirectoryAnswer> {
    return { ...(await super.read()), time: this.#clock.seconds() - this.offsetSeconds };
  }

  override async publish(keys: readonly SharedKey[]): Promise<DirectoryAnswer> {
    this.publications += 1;
    if (!this.available) throw new DependencyUnavailable('key directory', new Error('unavailable'));
    await delay(this.delayMs);
    return super.publish(keys);
  }
}

/** So short that the timer advances the ring every 5 ms. */
const PUBLICATION_SECONDS = 0.02;

let timer: KeyRotationTimer | undefined;
afterEach(() => timer?.close());

describe('KeyRotationTimer', () => {
  it('is ready after the first advance, and publishes again and again', async () => {
    const directory = new SwitchedDirectory();
    const events: KeyDirectoryEvent[] = [];
    timer = await start(directory, events);
    expect(timer.readiness()).toEqual({ ready: true });
    await until(() => directory.publications > 3, 'it has published again');
    expect(events).toEqual([]);
  });

  it('is not ready before a key can be published, and logs each change of state once', async () => {
    const directory = new SwitchedDirectory();
    directory.available = false;
    const events: KeyDirectoryEvent[] = [];
    timer = await start(directory, events);
    expect(timer.readiness()).toEqual({ ready: false, reason: 'no key is published yet' });
    await until(() => directory.publications > 3, 'it has tried again');
    directory.available = true;
    await until(() => events.length > 1, 'the directory is available');
    expect(timer.readiness()).toEqual({ ready: true });
    expect(events).toEqual([
      { event: 'key_directory_unavailable', fault: expect.any(DependencyUnavailable) },
      { event: 'key_directory_available' },
    ]);
  });

  describe('beside another replica', () => {
    const clock = new FixedClock();
    const later = async () => {
      const directory = new SwitchedDirectory(clock);
      await freshKeyRing({ directory, clock });
      const ring = unstartedKeyRing({ directory, clock });
      const created = new KeyRotationTimer(ring, { publicationSeconds: 60, log: () => {} });
      timer = created;
      return { ring, created };
    };

    it('has started when its key may sign, and not before', async () => {
      const { ring, created } = await later();
      let isStarted = false;
      const started = created.start().then(() => {
        isStarted = true;
      });
      await until(() => ring.times().age !== undefined, 'its key is published');
      clock.advance(59);
      await expect(ring.signingKey()).rejects.toThrow();
      // Twice as long as between two looks at the clock.
      await delay(100);
      expect(isStarted).toBe(false);
      expect(created.readiness()).toEqual({
        ready: false,
        reason: expect.stringContaining('waits until every verifier'),
      });
      clock.advance(1);
      await started;
      expect((await ring.signingKey()).kid).toBe(ring.periods()[0]?.kid);
    });

    it('ends the wait when the process is asked to stop', async () => {
      const { created } = await later();
      await expect(created.start(AbortSignal.abort())).rejects.toThrow('aborted');
    });
  });

  it('never sets a timer in the past, however long a publication takes', async () => {
    const directory = new SwitchedDirectory();
    directory.delayMs = 20;
    const delays: number[] = [];
    const { setTimeout } = globalThis;
    const recorded = (run: () => void, delayMs: number) => {
      delays.push(delayMs);
      return setTimeout(run, delayMs);
    };
    globalThis.setTimeout = Object.assign(recorded, setTimeout) as typeof globalThis.setTimeout;
    try {
      timer = await start(directory, []);
      await until(() => directory.publications > 3, 'it has published again');
    } finally {
      globalThis.setTimeout = setTimeout;
    }
    expect(delays.length).toBeGreaterThan(2);
    expect(delays.filter((delayMs) => delayMs < 0)).toEqual([]);
  });

  it('reports a clock that is off: a note, then no readiness, one line for each change', async () => {
    const directory = new SwitchedDirectory();
    const events: KeyDirectoryEvent[] = [];
    directory.offsetSeconds = 3;
    timer = await start(directory, events);
    expect(timer.readiness()).toEqual({ ready: true, note: 'the clock is 3.0 s ahead of that of the key directory' });
    directory.offsetSeconds = -7_200;
    await until(() => timer?.readiness().ready === false, 'it notices');
    expect(timer.readiness()).toEqual({
      ready: false,
      reason: expect.stringMatching(
        /clock of this machine .* \(the clock is 7200\.0 s behind that of the key directory\)/,
      ),
    });
    const { publications } = directory;
    await delay(20);
    expect(directory.publications).toBe(publications);
    directory.offsetSeconds = 0;
    await until(() => timer?.readiness().ready === true, 'it is right again');
    await until(() => events.length > 2, 'it is logged');
    expect(events).toEqual([
      { event: 'clock_off', offset_seconds: 3 },
      { event: 'clock_wrong', offset_seconds: -7200 },
      { event: 'clock_right', offset_seconds: 0 },
    ]);
  });
});

async function start(directory: SwitchedDirectory, events: KeyDirectoryEvent[]): Promise<KeyRotationTimer> {
  const created = new KeyRotationTimer(unstartedKeyRing({ directory }), {
    publicationSeconds: PUBLICATION_SECONDS,
    log: (event) => events.push(event),
  });
  await created.start();
  return created;
}
