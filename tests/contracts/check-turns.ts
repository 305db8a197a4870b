import { describe, expect, it } from '@jest/globals';
import type { CheckRequest, CheckTurns } from '../../application/ports/check-turns.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import { A_CALLER } from '../support/a-caller.ts';

/** A request for a cheap check of a registered client. */
export function checkRequest(more: Partial<CheckRequest> = {}): CheckRequest {
  return { clientId: 'a-client', registered: true, cost: 4, caller: A_CALLER, ...more };
}

/** A check that ends with this verdict when it is told to. */
export function heldCheck() {
  const { promise, resolve } = Promise.withResolvers<SecretVerdict>();
  return { end: resolve, check: () => promise };
}

/** What everything promises that gives turns. `fresh` answers turns of which one at a time is given, and eight may wait. */
export function describeCheckTurns(name: string, fresh: () => CheckTurns): void {
  describe(`${name} keeps the promises of CheckTurns`, () => {
    it.each(['match', 'mismatch', 'unusable_stored', 'unusable_presented'] as const)(
      'answers the verdict %s of the check',
      async (verdict) => {
        expect(await fresh().take(checkRequest(), async () => verdict)).toBe(verdict);
      },
    );

    it('gives the turn on when a check fails, and passes the fault on', async () => {
      const turns = fresh();
      const fault = new DependencyUnavailable('a part', new Error('broken'));
      const failing = turns.take(checkRequest(), () => Promise.reject(fault));
      const next = turns.take(checkRequest(), async () => 'match');
      await expect(failing).rejects.toThrow(DependencyUnavailable);
      expect(await next).toBe('match');
    });

    it('lets one wait for the other', async () => {
      const turns = fresh();
      const first = heldCheck();
      const began: number[] = [];
      const running = turns.take(checkRequest(), first.check);
      const waiting = [1, 2].map((number) =>
        turns.take(checkRequest(), async () => {
          began.push(number);
          return 'mismatch';
        }),
      );
      expect(began).toEqual([]);
      first.end('match');
      await running;
      await Promise.all(waiting);
      expect(began).toEqual([1, 2]);
    });

    it('drops a check whose caller has gone before it began', async () => {
      const turns = fresh();
      const first = heldCheck();
      const running = turns.take(checkRequest(), first.check);
      const leaving = new AbortController();
      let began = false;
      const dropped = turns.take(checkRequest({ caller: { ...A_CALLER, disconnected: leaving.signal } }), async () => {
        began = true;
        return 'match';
      });
      const behind = turns.take(checkRequest(), async () => 'match');
      leaving.abort();
      await expect(dropped).rejects.toThrow(DependencyUnavailable);
      first.end('match');
      await Promise.all([running, behind]);
      expect(began).toBe(false);
    });

    it('refuses what waits and what comes once it is closed', async () => {
      const turns = fresh();
      const first = heldCheck();
      const running = turns.take(checkRequest(), first.check);
      const waiting = turns.take(checkRequest(), async () => 'match');
      turns.close();
      await expect(waiting).rejects.toThrow(DependencyUnavailable);
      await expect(turns.take(checkRequest(), async () => 'match')).rejects.toThrow(DependencyUnavailable);
      first.end('match');
      await Promise.allSettled([running]);
    });

    it('takes no check of a caller who has gone already', async () => {
      const caller = { ...A_CALLER, disconnected: AbortSignal.abort() };
      await expect(fresh().take(checkRequest({ caller }), async () => 'match')).rejects.toThrow(DependencyUnavailable);
    });
  });
}
