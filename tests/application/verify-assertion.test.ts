import { afterEach, describe, expect, it } from '@jest/globals';
import { ASSERTION_QUEUE_LIMITS, VerificationQueue } from '../../adapters/secrets/verification-queue.ts';
import type { AssertionVerdict, AssertionVerifier } from '../../application/ports/assertion-verifier.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { VerifyAssertion } from '../../application/verify-assertion.ts';
import { settled } from '../contracts/verification-slots.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { compactJws, parsed } from '../support/assertions.ts';

const ASSERTION = parsed(compactJws({ alg: 'ES256' }, { sub: 'x', aud: 'y', exp: 1 }, () => Buffer.alloc(64)));
const LIMITS = { ...ASSERTION_QUEUE_LIMITS, fifoRounds: 4, unanswered: 4, waitMs: 200 };

const opened: VerificationQueue[] = [];
afterEach(() => {
  for (const queue of opened.splice(0)) queue.close();
});

/** A use case, its queue, and the verifications that have begun. Each costs two of the four that the FIFO queue holds. */
function world({ cost }: { readonly cost: number | undefined } = { cost: 1 }) {
  const queue = new VerificationQueue(LIMITS, 'assertion verification');
  opened.push(queue);
  const running: PromiseWithResolvers<AssertionVerdict>[] = [];
  const verifier: AssertionVerifier = {
    cost: () => cost,
    verify() {
      const verification = Promise.withResolvers<AssertionVerdict>();
      running.push(verification);
      return verification.promise;
    },
  };
  const useCase = new VerifyAssertion(verifier, queue);
  const verify = (clientId = 'client', caller = A_CALLER) => {
    const verdict = useCase.execute(ASSERTION, [], { clientId, caller, isRegistered: async () => true });
    verdict.catch(() => {});
    return verdict;
  };
  const step = async (verdict: AssertionVerdict) => {
    await settled();
    running.shift()?.resolve(verdict);
    await settled();
  };
  return { queue, running, verify, step };
}

describe('VerifyAssertion', () => {
  it.each(['verified', 'key_unknown', 'signature_wrong'] as const)(
    'answers the verdict %s, and gives its slot back',
    async (verdict) => {
      const { queue, verify, step } = world();
      const answer = verify();
      await step(verdict);
      expect(await answer).toBe(verdict);
      expect(queue.load).toEqual({ running: 0, fifo: 0, overflow: 0, unanswered: 0 });
    },
  );

  it('verifies one assertion at a time', async () => {
    const { running, verify, step } = world();
    for (const _ of [1, 2, 3]) void verify();
    await settled();
    expect(running).toHaveLength(1);
    await step('signature_wrong');
    expect(running).toHaveLength(1);
  });

  it('needs no slot to refuse a signature that no key can have made', async () => {
    const { running, verify } = world({ cost: undefined });
    for (const _ of [1, 2, 3]) void verify();
    await settled();
    expect(running).toHaveLength(3);
  });

  it('gives the slot back if a verification fails', async () => {
    const { queue, running, verify } = world();
    const failing = verify();
    await settled();
    running.shift()?.reject(new Error('broken'));
    await expect(failing).rejects.toThrow('broken');
    expect(queue.load.running).toBe(0);
  });

  it('answers beyond the FIFO queue only what is verified, and has no capacity for the rest', async () => {
    const { queue, verify, step } = world();
    const [first, second, third] = [verify('a'), verify('a'), verify('a')];
    await settled();
    const [forged, honest] = [verify('forged'), verify('honest')];
    await settled();
    expect(queue.load).toEqual({ running: 1, fifo: 2, overflow: 2, unanswered: 4 });
    await expect(verify('one too many')).rejects.toMatchObject({
      dependency: 'assertion verification',
      cause: { message: 'the verification queue is full' },
    });
    for (const verdict of ['key_unknown', 'signature_wrong', 'signature_wrong', 'signature_wrong', 'verified'] as const)
      await step(verdict);
    expect(await Promise.all([first, second, third])).not.toContain('verified');
    expect(await honest).toBe('verified');
    await expect(forged).rejects.toMatchObject({
      name: 'SlotsExhausted',
      dependency: 'assertion verification',
      cause: { message: 'no slot was free in time' },
    });
  });

  it('verifies nothing for a caller who has disconnected while waiting', async () => {
    const { queue, running, verify, step } = world();
    const leaving = new AbortController();
    void verify();
    const left = verify('left', { ...A_CALLER, disconnected: leaving.signal });
    await settled();
    leaving.abort();
    await expect(left).rejects.toThrow(DependencyUnavailable);
    await step('verified');
    expect(running).toHaveLength(0);
    expect(queue.load.unanswered).toBe(0);
  });
});
