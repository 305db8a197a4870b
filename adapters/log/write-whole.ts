import { writeSync } from 'node:fs';
import { types } from 'node:util';

/** When to try again to write to a pipe whose reader is slow, in milliseconds. */
export const READER_RETRY_MS = 10;

/**
 * Writes all of these bytes before it returns. Throws the system's fault; a part of them may be written then.
 * @param giveUpAt until when to wait for the slow reader of a pipe, in milliseconds of `performance.now()`. Nothing else runs meanwhile.
 */
export function writeWhole(descriptor: number, bytes: Buffer, giveUpAt = 0): void {
  for (let rest = bytes; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (fault) {
      if (!isSlow(codeOf(fault)) || performance.now() >= giveUpAt) throw fault;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READER_RETRY_MS);
    }
  }
}

/** The system's code of a fault, such as `ENOSPC`. */
export function codeOf(fault: unknown): string {
  return types.isNativeError(fault) && 'code' in fault ? String(fault.code) : 'unknown fault';
}

/** Whether the code says that a reader is slow, and not that something is wrong. */
export function isSlow(code: string): boolean {
  return code === 'EAGAIN' || code === 'EBUSY';
}
