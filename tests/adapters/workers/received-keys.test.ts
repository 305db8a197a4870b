import { describe, expect, it } from '@jest/globals';
import { createKeyFactory, readPublicKey } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { KeysForWorkers } from '../../../adapters/workers/keys-for-workers.ts';
import { ReceivedKeys } from '../../../adapters/workers/received-keys.ts';
import { WorkerKeyRing } from '../../../application/workers/worker-key-ring.ts';
import { KeySchedule } from '../../../domain/key-schedule.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

const noPrivateKey = () => Promise.reject(new Error('no private key is sent'));

describe('ReceivedKeys', () => {
  it('never replaces keys by older ones, in whatever order the messages are processed', async () => {
    const clock = new FixedClock();
    const ring = await freshKeyRing({ clock, factory: createKeyFactory({ ids: new RandomIdGenerator() }) });
    const keys = new KeysForWorkers(ring, () => undefined);
    const replica = new WorkerKeyRing({
      factory: { read: readPublicKey },
      schedule: new KeySchedule({ rotationSeconds: 0, publicationSeconds: 60, tokenLifetimeSeconds: 300 }),
      clock,
      lookUp: async () => {},
    });
    const received = new ReceivedKeys(replica, noPrivateKey, async () => undefined);
    const older = { ...keys.now(), state: { ...ring.state(), trusted: [] } };
    await received.take(keys.now());
    const published = await replica.publicKeys();
    expect(published).toHaveLength(1);
    await received.take(older);
    expect(await replica.publicKeys()).toEqual(published);
  });
});
