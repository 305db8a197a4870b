import { describe, expect, it } from '@jest/globals';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import type { SlotRequest, VerificationSlots } from '../../application/ports/verification-slots.ts';
import { A_CALLER } from '../support/a-caller.ts';

/** A request for a cheap verification, of a registered client by default. */
export function slotRequest({
  registered = true,
  ...more
}: Partial<SlotRequest> & { readonly registered?: boolean } = {}): SlotRequest {
  const isRegistered = async () => registered;
  return { clientId: 'a-client', cost: 4, caller: A_CALLER, isRegistered, ...more };
}

/** A verification that ends with the verdict that the test gives it, at that moment. */
export function heldVerification() {
  const { promise, resolve } = Promise.withResolvers<SecretVerdict>();
  return { end: resolve, verify: () => promise };
}

/** Uses a slot as AuthenticateBySecret does. */
export function verifyInSlot(
  slots: VerificationSlots,
  request: SlotRequest,
  verify: () => Promise<SecretVerdict>,
): Promise<SecretVerdict> {
  return slots.run(request, verify, (verdict) => verdict === 'match');
}

/** Resolves when a verification has a slot, which it keeps until `release` is called. */
export async function heldSlot(slots: VerificationSlots, request = slotRequest()) {
  const [begun, held] = [Promise.withResolvers<void>(), heldVerification()];
  void verifyInSlot(slots, request, () => {
    begun.resolve();
    return held.verify();
  });
  await begun.promise;
  return { release: () => held.end('mismatch') };
}

/** Resolves when everything that can happen without another event has happened. */
export const settled = () => new Promise(setImmediate);

/**
 * The promises of VerificationSlots. `fresh` returns slots of which one is free at a time, and for which eight requests
 * may wait.
 */
export function describeVerificationSlots(name: string, fresh: () => VerificationSlots & { close(): void }): void {
  describe(`${name} keeps the promises of VerificationSlots`, () => {
    it.each(['match', 'mismatch', 'unusable_stored', 'unusable_presented'] as const)(
      'answers the verdict %s that settles a slot',
      async (verdict) => {
        expect(await verifyInSlot(fresh(), slotRequest(), async () => verdict)).toBe(verdict);
      },
    );

    it('frees the slot of a verification that failed', async () => {
      const slots = fresh();
      const fault = new DependencyUnavailable('a part', new Error('broken'));
      const failing = verifyInSlot(slots, slotRequest(), () => Promise.reject(fault));
      const next = verifyInSlot(slots, slotRequest(), async () => 'match');
      await expect(failing).rejects.toThrow(DependencyUnavailable);
      expect(await next).toBe('match');
    });

    it('grants slots in the order of the requests, one at a time', async () => {
      const slots = fresh();
      const first = heldVerification();
      const began: number[] = [];
      const running = verifyInSlot(slots, slotRequest(), first.verify);
      const waiting = [1, 2].map((number) =>
        verifyInSlot(slots, slotRequest(), async () => {
          began.push(number);
          return 'mismatch';
        }),
      );
      await settled();
      expect(began).toEqual([]);
      first.end('match');
      await running;
      await Promise.all(waiting);
      expect(began).toEqual([1, 2]);
    });

    it('grants no slot to a caller who disconnects while waiting', async () => {
      const slots = fresh();
      const first = heldVerification();
      const running = verifyInSlot(slots, slotRequest(), first.verify);
      const leaving = new AbortController();
      let began = false;
      const caller = { ...A_CALLER, disconnected: leaving.signal };
      const dropped = verifyInSlot(slots, slotRequest({ caller }), async () => {
        began = true;
        return 'match';
      });
      const behind = verifyInSlot(slots, slotRequest(), async () => 'match');
      leaving.abort();
      await expect(dropped).rejects.toThrow(DependencyUnavailable);
      first.end('match');
      await Promise.all([running, behind]);
      expect(began).toBe(false);
    });

    it('sends nothing to a caller who disconnected during the verification, and frees the slot', async () => {
      const slots = fresh();
      const leaving = new AbortController();
      const caller = { ...A_CALLER, disconnected: leaving.signal };
      const left = verifyInSlot(slots, slotRequest({ caller }), async () => {
        leaving.abort();
        return 'match';
      });
      await expect(left).rejects.toThrow(DependencyUnavailable);
      expect(await verifyInSlot(slots, slotRequest(), async () => 'match')).toBe('match');
    });

    it('refuses the requests that wait, and new ones, once it is closed', async () => {
      const slots = fresh();
      const first = heldVerification();
      const running = verifyInSlot(slots, slotRequest(), first.verify);
      const waiting = verifyInSlot(slots, slotRequest(), async () => 'match');
      slots.close();
      await expect(waiting).rejects.toThrow(DependencyUnavailable);
      await expect(verifyInSlot(slots, slotRequest(), async () => 'match')).rejects.toThrow(DependencyUnavailable);
      first.end('match');
      await Promise.allSettled([running]);
    });

    it('grants no slot to a caller who has disconnected already', async () => {
      const caller = { ...A_CALLER, disconnected: AbortSignal.abort() };
      const verified = verifyInSlot(fresh(), slotRequest({ caller }), async () => 'match');
      await expect(verified).rejects.toThrow(DependencyUnavailable);
    });
  });
}
