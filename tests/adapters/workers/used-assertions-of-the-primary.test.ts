import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { InMemoryUsedAssertions } from '../../../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import { PrimaryProcess } from '../../../adapters/workers/primary-process.ts';
import {
  connectToPrimary,
  connectToWorker,
  type PrimaryFunctions,
  type PrimaryPipe,
  type WorkerFunctions,
} from '../../../adapters/workers/protocol.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { UsedAssertions } from '../../../application/ports/used-assertions.ts';
import { describeUsedAssertions, SMALL_LIMITS } from '../../contracts/used-assertions.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const part of opened.splice(0)) part.close();
});

/** A worker that uses this store over real message ports. */
function workerOf(store: UsedAssertions): { readonly remote: UsedAssertions; readonly pipe: PrimaryPipe } {
  const { port1, port2 } = new MessageChannel();
  opened.push(port1, port2);
  const functions = { useAssertions: (uses) => store.use(uses) } as PrimaryFunctions;
  connectToWorker({ send: (m) => port1.postMessage(m), onMessage: (listen) => port1.on('message', listen) }, functions);
  const pipe = connectToPrimary(
    { send: (m) => port2.postMessage(m), onMessage: (listen) => port2.on('message', listen) },
    {} as WorkerFunctions,
  );
  const primary = new PrimaryProcess(pipe, { slotMs: 0, storageMs: 60_000, unansweredMax: 100 });
  return { remote: { use: primary.useAssertions }, pipe };
}

describeUsedAssertions('the used assertions of the primary', async () => {
  const clock = new FixedClock();
  const store = new InMemoryUsedAssertions(clock, SMALL_LIMITS);
  const stores = [workerOf(store).remote, workerOf(store).remote] as const;
  return { stores, wait: async (seconds) => clock.advance(seconds), setClocks: async () => {}, settle: async () => {} };
});

describe('the used assertions of the primary', () => {
  const uses = [{ clientId: 'a', assertionId: '1', keptSeconds: 60 }];

  it('throws the fault of the store of the primary, with its cause', async () => {
    const { remote } = workerOf({
      use: () => Promise.reject(new DependencyUnavailable('used assertions', new Error('timeout'))),
    });
    const fault = await remote.use(uses).catch((reason: unknown) => reason);
    expect(fault).toBeInstanceOf(DependencyUnavailable);
    expect(fault).toMatchObject({ dependency: 'used assertions', cause: new Error('timeout') });
  });

  it('throws the message of a fault that no message can carry', async () => {
    const { remote } = workerOf({ use: () => Promise.reject(new Error('unforeseen', { cause: () => {} })) });
    const fault = await remote.use(uses).catch((reason: unknown) => reason);
    expect(fault).toBeInstanceOf(DependencyUnavailable);
    expect(fault).toMatchObject({ dependency: 'used assertions', cause: new Error('unforeseen') });
  });

  it('throws if the primary ends before it answers', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { remote, pipe } = workerOf({
      use() {
        resolve();
        return new Promise(() => {});
      },
    });
    const answer = remote.use(uses);
    await asked;
    pipe.$close();
    await expect(answer).rejects.toThrow(DependencyUnavailable);
  });
});
