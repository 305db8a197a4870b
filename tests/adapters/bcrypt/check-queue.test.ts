import { describe, expect, it } from '@jest/globals';
import { CheckQueue } from '../../../adapters/bcrypt/check-queue.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';

/** A check that ends when it is told to. */
function heldCheck() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { end: resolve, check: () => promise };
}

describe('CheckQueue', () => {
  it('never runs more checks at once than it may, and runs the others in their order', async () => {
    const queue = new CheckQueue(2);
    const began: number[] = [];
    const held = [0, 1, 2, 3].map(() => heldCheck());
    const runs = held.map(({ check }, number) =>
      queue.run(() => {
        began.push(number);
        return check();
      }),
    );
    await Promise.resolve();
    expect(began).toEqual([0, 1]);
    held[1]?.end();
    await runs[1];
    expect(began).toEqual([0, 1, 2]);
    for (const { end } of held) end();
    await Promise.all(runs);
    expect(began).toEqual([0, 1, 2, 3]);
  });

  it('gives its turn on when a check fails, and passes the fault on', async () => {
    const queue = new CheckQueue(1);
    await expect(queue.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await queue.run(async () => 'next')).toBe('next');
  });

  it('refuses what comes while as many wait as may, and takes the next when there is room again', async () => {
    const queue = new CheckQueue(1, 1);
    const { end, check } = heldCheck();
    const running = queue.run(check);
    const waiting = queue.run(async () => 'waited');
    await expect(queue.run(async () => 'one too many')).rejects.toThrow(DependencyUnavailable);
    end();
    await running;
    expect(await waiting).toBe('waited');
    expect(await queue.run(async () => 'next')).toBe('next');
  });

  it('refuses what waits and what comes once it is closed, and lets what runs end', async () => {
    const queue = new CheckQueue(1);
    const { end, check } = heldCheck();
    const running = queue.run(check);
    const waiting = queue.run(async () => 'too late');
    queue.close();
    await expect(waiting).rejects.toThrow(DependencyUnavailable);
    await expect(queue.run(async () => 'too late')).rejects.toThrow(DependencyUnavailable);
    end();
    await expect(running).resolves.toBeUndefined();
  });
});
