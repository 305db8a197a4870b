import { writeSync } from 'node:fs';
import { types } from 'node:util';

/** When to try again to write to a pipe whose reader is slow, in milliseconds. */
export const READER_RETRY_MS = 10;

/**
 * Writes all of a text before it returns. Throws the system's fault. @param giveUpAt until when it waits for a slow
 * reader, in milliseconds of `performance.now()`.
 */
export function writeNow(descriptor: number, text: string, giveUpAt: number): void {
  let rest: Buffer = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (fault) {
      if (!isSlow(fault) || performance.now() >= giveUpAt) throw fault;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READER_RETRY_MS);
    }
  }
}

/** The system's code of a fault or its cause, such as `ENOSPC`. */
export function codeOf(fault: unknown): string {
  if (!types.isNativeError(fault)) return 'unknown fault';
  return 'code' in fault ? String(fault.code) : codeOf(fault.cause);
}

/** Whether a reader is slow, and nothing is wrong. */
export function isSlow(fault: unknown): boolean {
  return ['EAGAIN', 'EBUSY'].includes(codeOf(fault));
}
