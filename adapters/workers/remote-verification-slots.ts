import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import {
  type ClosableVerificationSlots,
  type SlotRequest,
  SlotsExhausted,
  type VerificationSlot,
  type VerificationSlots,
  verificationFault,
} from '../../application/ports/verification-slots.ts';
import { type PrimaryFunctions, type SentFault, sentFaultOf } from './protocol.ts';

const NAME = 'secret verification';

/** The functions of the primary that a worker needs to acquire slots. */
export type SlotFunctions = Pick<PrimaryFunctions, 'acquireSlot' | 'settleSlot' | 'callerDisconnected'>;

/**
 * The slots of the primary, which all workers of a service share. The verification itself runs here, in the worker. A new
 * client waits for one message to the primary and its answer. Only a deferred answer waits for a second one.
 */
export class RemoteVerificationSlots implements ClosableVerificationSlots {
  readonly #primary: SlotFunctions;
  readonly #waiting = new Set<(fault: DependencyUnavailable) => void>();
  /** The requests that wait for a slot, by their ids. */
  readonly #requests = new Map<number, SlotRequest>();
  #lastId = 0;
  #closed = false;

  constructor(primary: SlotFunctions) {
    this.#primary = primary;
  }

  /** The primary limits attempts. */
  hasAttemptsLeft(): boolean {
    return true;
  }

  async acquire(request: SlotRequest): Promise<VerificationSlot | 'attempts_exhausted'> {
    const { clientId, cost, caller, purpose } = request;
    if (this.#closed) throw verificationFault('the service stops');
    if (caller.disconnected.aborted) throw verificationFault('the caller has disconnected');
    this.#lastId += 1;
    const id = this.#lastId;
    const onDisconnected = () => void this.#primary.callerDisconnected(id).catch(() => {});
    const stopListening = () => caller.disconnected.removeEventListener('abort', onDisconnected);
    caller.disconnected.addEventListener('abort', onDisconnected);
    this.#requests.set(id, request);
    const asked = this.#primary.acquireSlot(id, { clientId, cost, purpose, network: caller.network });
    const answer = await this.#orClosed(asked)
      .catch((reason) => {
        stopListening();
        throw reason;
      })
      .finally(() => this.#requests.delete(id));
    if (typeof answer === 'object' || answer === 'attempts_exhausted') stopListening();
    if (typeof answer === 'object') throw faultOf(answer);
    if (answer === 'attempts_exhausted') return answer;
    const settle = (verdict: SecretVerdict | undefined) =>
      this.#orClosed(this.#primary.settleSlot(id, verdict)).finally(stopListening);
    return {
      refusals: answer,
      settle: async (verdict) => {
        const settled = settle(verdict);
        if (answer !== 'deferred') {
          settled.catch(() => {});
          if (caller.disconnected.aborted) throw verificationFault('the caller has disconnected');
          return verdict === 'match' || answer === 'immediate' ? verdict : 'attempts_exhausted';
        }
        const outcome = await settled;
        if (typeof outcome === 'object') throw faultOf(outcome);
        return outcome;
      },
      release: () => void settle(undefined).catch(() => {}),
    };
  }

  /** Answers the primary, which asks for a request that waits. */
  readonly isRegistered = async (id: number): Promise<boolean | SentFault> => {
    try {
      return (await this.#requests.get(id)?.isRegistered()) ?? false;
    } catch (reason) {
      return sentFaultOf(reason);
    }
  };

  /** Refuses the requests that wait, and new ones. */
  close(): void {
    this.#closed = true;
    for (const reject of this.#waiting) reject(verificationFault('the service stops'));
  }

  /** The primary's answer. Rejects if there is none, or these slots are closed. */
  async #orClosed<Answer>(answer: Promise<Answer>): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.add(reject);
    answer.then(resolve, (reason) => reject(new DependencyUnavailable(NAME, reason)));
    try {
      return await promise;
    } finally {
      this.#waiting.delete(reject);
    }
  }
}

/** A slot that a worker waits for, and from when it is granted until it is settled, the slot itself. */
interface HeldSlot {
  readonly disconnect: AbortController;
  readonly slot?: VerificationSlot;
}

/** Acquires slots in the primary on behalf of one worker. */
export class SlotsForWorker implements SlotFunctions, Pick<PrimaryFunctions, 'abandonSlot'> {
  readonly #slots: VerificationSlots;
  readonly #isRegistered: (id: number) => Promise<boolean | SentFault>;
  /** The slots that the worker waits for or holds, by its own ids. */
  readonly #held = new Map<number, HeldSlot>();
  #closed = false;

  /** @param isRegistered asks the worker. */
  constructor(slots: VerificationSlots, isRegistered: (id: number) => Promise<boolean | SentFault>) {
    this.#slots = slots;
    this.#isRegistered = isRegistered;
  }

  readonly acquireSlot: SlotFunctions['acquireSlot'] = async (id, { network, ...request }) => {
    // Messages of a worker can arrive after it has ended.
    if (this.#closed) return { unavailable: 'the worker has ended' };
    const disconnect = new AbortController();
    this.#held.set(id, { disconnect });
    try {
      const slot = await this.#slots.acquire({
        ...request,
        caller: { network, disconnected: disconnect.signal },
        isRegistered: async () => {
          const answer = await this.#isRegistered(id);
          if (typeof answer === 'object') throw faultOf(answer);
          return answer;
        },
      });
      if (slot === 'attempts_exhausted') {
        this.#held.delete(id);
        return slot;
      }
      // The worker may have ended or abandoned the slot in the meantime.
      if (this.#held.has(id)) this.#held.set(id, { disconnect, slot });
      else slot.release();
      return slot.refusals;
    } catch (reason) {
      this.#held.delete(id);
      return sentFaultOf(reason);
    }
  };

  readonly settleSlot: SlotFunctions['settleSlot'] = async (id, verdict) => {
    const { slot, disconnect } = this.#held.get(id) ?? {};
    if (slot === undefined || disconnect === undefined) return { unavailable: 'the slot is not held' };
    // A deferred answer may be waited for, but the slot itself is given back now, and only once.
    this.#held.set(id, { disconnect });
    try {
      if (verdict !== undefined) return await slot.settle(verdict);
      slot.release();
      return { unavailable: 'the verification failed' };
    } catch (reason) {
      return sentFaultOf(reason);
    } finally {
      this.#held.delete(id);
    }
  };

  readonly callerDisconnected: SlotFunctions['callerDisconnected'] = async (id) => {
    this.#held.get(id)?.disconnect.abort();
  };

  readonly abandonSlot: PrimaryFunctions['abandonSlot'] = async (id) => {
    const held = this.#held.get(id);
    this.#held.delete(id);
    if (held !== undefined) giveBack(held);
  };

  /** Gives all slots back, because the worker has ended and its callers have lost their connections. */
  close(): void {
    this.#closed = true;
    for (const held of this.#held.values()) giveBack(held);
    this.#held.clear();
  }
}

function giveBack({ disconnect, slot }: HeldSlot): void {
  disconnect.abort();
  slot?.release();
}

function faultOf({ unavailable, slotsExhausted }: SentFault): DependencyUnavailable {
  return slotsExhausted ? new SlotsExhausted(unavailable) : verificationFault(unavailable);
}
