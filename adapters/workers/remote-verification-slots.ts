import type { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import {
  type ClosableVerificationSlots,
  type SlotRequest,
  type VerificationSlot,
  type VerificationSlots,
  verificationFault,
} from '../../application/ports/verification-slots.ts';
import type { PrimaryFunctions } from './protocol.ts';

/** The functions of the primary that a worker needs to acquire slots. */
export type SlotFunctions = Pick<PrimaryFunctions, 'acquireSlot' | 'settleSlot' | 'callerDisconnected' | 'abandonSlot'>;

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
    let refusals: VerificationSlot['refusals'] | 'attempts_exhausted' = 'attempts_exhausted';
    try {
      refusals = await this.#orClosed(asked);
    } finally {
      this.#requests.delete(id);
      if (refusals === 'attempts_exhausted') stopListening();
    }
    if (refusals === 'attempts_exhausted') return refusals;
    return {
      refusals,
      settle: async (verdict) => {
        const settled = this.#orClosed(this.#primary.settleSlot(id, verdict)).finally(stopListening);
        if (refusals === 'deferred') return settled;
        settled.catch(() => {});
        if (caller.disconnected.aborted) throw verificationFault('the caller has disconnected');
        return verdict === 'match' || refusals === 'immediate' ? verdict : 'attempts_exhausted';
      },
      release: () => {
        stopListening();
        this.#primary.abandonSlot(id).catch(() => {});
      },
    };
  }

  /** Answers the primary, which asks for a request that waits. */
  readonly isRegistered = async (id: number): Promise<boolean> => {
    return (await this.#requests.get(id)?.isRegistered()) ?? false;
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
    answer.then(resolve, reject);
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
export class SlotsForWorker implements SlotFunctions {
  readonly #slots: VerificationSlots;
  readonly #isRegistered: (id: number) => Promise<boolean>;
  /** The slots that the worker waits for or holds, by its own ids. */
  readonly #held = new Map<number, HeldSlot>();
  #closed = false;

  /** @param isRegistered asks the worker. */
  constructor(slots: VerificationSlots, isRegistered: (id: number) => Promise<boolean>) {
    this.#slots = slots;
    this.#isRegistered = isRegistered;
  }

  readonly acquireSlot: SlotFunctions['acquireSlot'] = async (id, { network, ...request }) => {
    // Messages of a worker can arrive after it has ended.
    if (this.#closed) throw verificationFault('the worker has ended');
    const disconnect = new AbortController();
    this.#held.set(id, { disconnect });
    const caller = { network, disconnected: disconnect.signal };
    let slot: VerificationSlot | 'attempts_exhausted' = 'attempts_exhausted';
    try {
      slot = await this.#slots.acquire({ ...request, caller, isRegistered: () => this.#isRegistered(id) });
    } finally {
      if (slot === 'attempts_exhausted') this.#held.delete(id);
    }
    if (slot === 'attempts_exhausted') return slot;
    // The worker may have ended or abandoned the slot in the meantime.
    if (this.#held.has(id)) this.#held.set(id, { disconnect, slot });
    else slot.release();
    return slot.refusals;
  };

  readonly settleSlot: SlotFunctions['settleSlot'] = async (id, verdict) => {
    const { slot, disconnect } = this.#held.get(id) ?? {};
    if (slot === undefined || disconnect === undefined) throw verificationFault('the slot is not held');
    // A deferred answer may be waited for, but the slot itself is given back now, and only once.
    this.#held.set(id, { disconnect });
    return slot.settle(verdict).finally(() => this.#held.delete(id));
  };

  readonly callerDisconnected: SlotFunctions['callerDisconnected'] = async (id) => {
    this.#held.get(id)?.disconnect.abort();
  };

  readonly abandonSlot: SlotFunctions['abandonSlot'] = async (id) => {
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
