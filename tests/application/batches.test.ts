import { describe, expect, it } from '@jest/globals';
import { Batches } from '../../application/batches.ts';

const pass = () => new Promise((resolve) => setImmediate(resolve));

/** Batches that end when the test says so. */
function world(options: { readonly max: number; readonly isSerial?: boolean }) {
  const begun: { readonly items: readonly number[]; end(): void; fail(): void }[] = [];
  const batches = new Batches((items: readonly number[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
    begun.push({ items, end: () => resolve(items.map((item) => item * 10)), fail: () => reject(new Error('refused')) });
    return promise;
  }, options);
  return { begun, batches };
}

describe('Batches', () => {
  it('takes what one pass of the event loop brings together, and nothing joins a batch that has begun', async () => {
    const { begun, batches } = world({ max: 10 });
    const first = [batches.add(1), Promise.resolve().then(() => batches.add(2))];
    await pass();
    const later = [batches.add(3)];
    await pass();
    expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3]]);
    begun[1]?.end();
    expect(await Promise.all(later)).toEqual([30]);
    begun[0]?.end();
    expect(await Promise.all(first)).toEqual([10, 20]);
  });

  it('begins one of the greatest size in each pass, the oldest first', async () => {
    const { begun, batches } = world({ max: 2 });
    for (const item of [1, 2, 3, 4, 5]) void batches.add(item);
    for (const count of [1, 2, 3, 3]) {
      await pass();
      expect(begun).toHaveLength(count);
    }
    expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('begins the next only when the last has ended, if they are serial, however that ended', async () => {
    const { begun, batches } = world({ max: 2, isSerial: true });
    const outcomes = [1, 2, 3].map((item) => batches.add(item));
    for (let turn = 0; turn < 5; turn += 1) await pass();
    expect(begun.map(({ items }) => items)).toEqual([[1, 2]]);
    begun[0]?.fail();
    expect(await Promise.allSettled(outcomes.slice(0, 2))).toMatchObject([
      { status: 'rejected' },
      { status: 'rejected' },
    ]);
    await pass();
    expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3]]);
    begun[1]?.end();
    expect(await outcomes[2]).toBe(30);
  });

  it('fails only the items of a batch that fails, throws or has another number of outcomes', async () => {
    const batches = new Batches(
      (items: readonly string[]) => {
        if (items.includes('throw')) throw new Error('thrown');
        return items.includes('lose') ? [] : items;
      },
      { max: 1 },
    );
    const outcomes = await Promise.allSettled(['throw', 'a', 'lose', 'b'].map((item) => batches.add(item)));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
  });

  it('lets an outcome be a promise of its own, which fails alone', async () => {
    const batches = new Batches(
      (items: readonly number[]) =>
        items.map((item) => (item === 2 ? Promise.reject(new Error('alone')) : Promise.resolve(item))),
      { max: 10 },
    );
    const outcomes = await Promise.allSettled([1, 2, 3].map((item) => batches.add(item)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});
