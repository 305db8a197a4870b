import { afterEach, describe, expect, it } from '@jest/globals';
import { InMemoryKeyDirectory } from '../../../adapters/memory/in-memory-key-directory.ts';
import { type KeyDirectoryEvent, KeyRotationTimer } from '../../../adapters/system/key-rotation-timer.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { DirectoryAnswer, SharedKey } from '../../../application/ports/key-directory.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { until } from '../../support/until.ts';

/** A directory that can become unavailable. */
class SwitchedDirectory extends InMemoryKeyDirectory {
  available = true;
  publications = 0;

  constructor() {
    super(new FixedClock());
  }

  override async publish(keys: readonly SharedKey[]): Promise<DirectoryAnswer> {
    this.publications += 1;
    if (!this.available) throw new DependencyUnavailable('key directory', new Error('unavailable'));
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
});

async function start(directory: SwitchedDirectory, events: KeyDirectoryEvent[]): Promise<KeyRotationTimer> {
  const created = new KeyRotationTimer(unstartedKeyRing({ directory }), {
    publicationSeconds: PUBLICATION_SECONDS,
    log: (event) => events.push(event),
  });
  await created.start();
  return created;
}
