import type { SignKeyObjectInput } from 'node:crypto';

/**
 * What the event loop and the signing threads share. A job is a signature to make; its number modulo the number of
 * slots is its slot. The event loop publishes jobs in order, and each thread takes the next one. No message is needed
 * for a job, and one is enough for several results.
 *
 * | state of a slot | who ends it | next |
 * |---|---|---|
 * | FREE | the event loop, which writes key, length and input first | WAITING; then `published` says so, and wakes a thread |
 * | WAITING | the first thread that exchanges it for its own number | that number |
 * | the number of a thread | that thread, when the signature is in the place of the input | minus its length |
 * | the number of a thread that has ended | the event loop, which refuses the job | FREE |
 * | minus a length | the event loop, which gives its caller the signature | FREE |
 *
 * What holds at every moment, with its test in tests/adapters/jwt/signing-threads.test.ts:
 * - Only who ends a state writes to the slot, so each job is signed once: "sign each input once, wherever the system
 *   halts a thread …".
 * - No more jobs than slots: "refuse a signature while too many wait". Numbers overflow, and slots are a power of two:
 *   "give each caller its own signature, many times around the ring".
 * - `passed` is never beyond a job that waits: "sign first in, first out", "before it has taken what it was woken for,
 *   leaves it to the others".
 * - A result is unreported, or `isReported` is 1 until the event loop has looked: "deliver what is ready while another
 *   thread still …".
 * - Only a thread that ends loses a job, the one with its number: "a signing thread that ends".
 */
export interface SharedJobs {
  /** Number of jobs that were ever published. Threads without work wait for it to change. */
  readonly published: Int32Array<SharedArrayBuffer>;
  /** Threads need not look at the jobs before this one. */
  readonly passed: Int32Array<SharedArrayBuffer>;
  /** Results since the last report. */
  readonly unreported: Int32Array<SharedArrayBuffer>;
  /** 1 from when a thread sends a report, which is a message without content, until the event loop has received it. */
  readonly isReported: Int32Array<SharedArrayBuffer>;
  /** Of each slot: {@link FREE}, {@link WAITING}, the thread that signs, or minus the length of the signature. */
  readonly states: Int32Array<SharedArrayBuffer>;
  /** Of each slot: the number of its key, and the length of its signing input in bytes. */
  readonly keys: Int32Array<SharedArrayBuffer>;
  readonly lengths: Int32Array<SharedArrayBuffer>;
  /** So many bytes of each slot: its signing input, and then its signature. */
  readonly slotBytes: number;
  readonly data: Uint8Array<SharedArrayBuffer>;
}

export const FREE = 0;
export const WAITING = 1;
/** The number of the first thread. */
export const FIRST_THREAD = 2;

/** A key and its padding, with a number that no other one gets. */
export interface NumberedKey {
  readonly number: number;
  readonly by: SignKeyObjectInput;
}

/** What a thread gets when it starts. Further keys come as messages, each before the first job that needs it. */
export interface SigningThreadData {
  readonly jobs: SharedJobs;
  /** The number of the thread. */
  readonly self: number;
  readonly waiting: typeof WAITING;
  readonly keys: readonly NumberedKey[];
  /** The newest keys that a thread keeps. */
  readonly keysMax: number;
  /** A thread reports this many results at once while there is more to sign. */
  readonly reportAfter: number;
}

/** Makes a signature by SHA-256 over a signing input. */
export type Sign = (input: Uint8Array, by: SignKeyObjectInput) => Uint8Array;

/** Signs by RSA. Runs once in each thread. */
export function signByRsa(): Sign {
  const { sign } = process.getBuiltinModule('node:crypto');
  return (input, by) => sign('sha256', input, by);
}

/**
 * Runs in a thread, which gets its text and nothing else of this module, and never ends. A thread that is ended from
 * outside, at whichever instruction, leaves a job that waits, or one with its number, and holds up nobody else.
 */
export function signLoop(createSign: () => Sign): void {
  const { parentPort, receiveMessageOnPort, workerData } = process.getBuiltinModule('node:worker_threads');
  if (parentPort === null) return;
  const { jobs, self, waiting, keysMax, reportAfter, ...data } = workerData as SigningThreadData;
  const { published, passed, unreported, isReported, states, keys, lengths, slotBytes } = jobs;
  const sign = createSign();
  const known = new Map(data.keys.map(({ number, by }) => [number, by]));

  function report(): void {
    Atomics.store(unreported, 0, 0);
    if (Atomics.exchange(isReported, 0, 1) === 0) parentPort?.postMessage(undefined);
  }

  function keyOf(number: number): SignKeyObjectInput {
    for (;;) {
      const key = known.get(number);
      if (key !== undefined) return key;
      const received = parentPort && receiveMessageOnPort(parentPort);
      if (!received) throw new Error('a key is missing');
      known.set(received.message.number, received.message.by);
      for (const oldest of [...known.keys()].slice(0, -keysMax)) known.delete(oldest);
    }
  }

  for (;;) {
    // In this order: otherwise `job` may be one that is not published yet, and is passed before it waits.
    const job = Atomics.load(passed, 0);
    const end = Atomics.load(published, 0);
    if (job === end) {
      if (Atomics.load(unreported, 0) > 0) report();
      Atomics.wait(published, 0, end);
      continue;
    }
    const slot = job & (states.length - 1);
    const isTaken = Atomics.compareExchange(states, slot, waiting, self) === waiting;
    Atomics.compareExchange(passed, 0, job, (job + 1) | 0);
    if (!isTaken) continue;
    const start = slot * slotBytes;
    const input = jobs.data.subarray(start, start + (lengths[slot] as number));
    const signature = sign(input, keyOf(keys[slot] as number));
    jobs.data.set(signature, start);
    Atomics.store(states, slot, -signature.length);
    if (Atomics.add(unreported, 0, 1) + 1 >= reportAfter) report();
  }
}
