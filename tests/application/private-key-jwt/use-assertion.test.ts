import { describe, expect, it } from '@jest/globals';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { type AssertionUse, UsedAssertionsFull, type UseOutcome } from '../../../application/ports/used-assertions.ts';
import { UseAssertion } from '../../../application/private-key-jwt/use-assertion.ts';

const useOf = (assertionId: string): AssertionUse => ({ clientId: 'client', assertionId, keptSeconds: 60 });

/** A store whose batches wait for their answers. */
function world() {
  const batches: { readonly ids: readonly string[]; answer(outcomes: readonly UseOutcome[]): void; fail(): void }[] =
    [];
  const useAssertion = new UseAssertion({
    use(uses) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly UseOutcome[]>();
      const fail = () => reject(new DependencyUnavailable('used assertions', new Error('out of reach')));
      batches.push({ ids: uses.map(({ assertionId }) => assertionId), answer: resolve, fail });
      return promise;
    },
  });
  return { batches, useAssertion };
}

/** Lets everything run that waits for nothing but the event loop. */
async function turn(): Promise<void> {
  for (let pass = 0; pass < 3; pass += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('UseAssertion', () => {
  it('sends a use alone at once, and what arrives meanwhile together', async () => {
    const { batches, useAssertion } = world();
    const first = useAssertion.execute(useOf('1'));
    await turn();
    const more = ['2', '3', '2'].map((id) => useAssertion.execute(useOf(id)));
    await turn();
    expect(batches.map(({ ids }) => ids)).toEqual([['1']]);
    batches[0]?.answer(['first']);
    await turn();
    expect(batches.map(({ ids }) => ids)).toEqual([['1'], ['2', '3', '2']]);
    batches[1]?.answer(['first', 'replayed', 'replayed']);
    expect(await Promise.all([first, ...more])).toEqual(['first', 'first', 'replayed', 'replayed']);
    await turn();
    expect(batches).toHaveLength(2);
  });

  it('sends at most 200 uses at once', async () => {
    const { batches, useAssertion } = world();
    const uses = Array.from({ length: 450 }, (_, id) => useAssertion.execute(useOf(String(id))));
    for (const size of [200, 200, 50]) {
      await turn();
      expect(batches.at(-1)?.ids).toHaveLength(size);
      batches.at(-1)?.answer(Array<UseOutcome>(size).fill('first'));
    }
    expect(new Set(await Promise.all(uses))).toEqual(new Set(['first']));
  });

  it('throws for each use that finds no room, and only for those', async () => {
    const { batches, useAssertion } = world();
    const outcomes = ['1', '2', '3'].map((id) => useAssertion.execute(useOf(id)));
    await turn();
    batches[0]?.answer(['first', 'client_full', 'full']);
    const [one, two, three] = await Promise.allSettled(outcomes);
    expect(one).toEqual({ status: 'fulfilled', value: 'first' });
    expect([two, three]).toEqual([
      { status: 'rejected', reason: new UsedAssertionsFull('client_full') },
      { status: 'rejected', reason: new UsedAssertionsFull('full') },
    ]);
    expect(new UsedAssertionsFull('full')).toBeInstanceOf(DependencyUnavailable);
    const causes = [two, three].map((outcome) => outcome?.status === 'rejected' && outcome.reason.cause.message);
    expect(causes).toEqual([expect.stringContaining('of this client'), expect.stringContaining('of all clients')]);
  });

  it('throws the fault of the store to each request of the batch, and works again afterwards', async () => {
    const { batches, useAssertion } = world();
    const outcomes = ['1', '2'].map((id) => useAssertion.execute(useOf(id)));
    await turn();
    batches[0]?.fail();
    for (const outcome of await Promise.allSettled(outcomes)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(DependencyUnavailable) });
    }
    const next = useAssertion.execute(useOf('3'));
    await turn();
    batches[1]?.answer(['first']);
    expect(await next).toBe('first');
  });
});
