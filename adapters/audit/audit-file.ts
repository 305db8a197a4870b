import { closeSync, constants, openSync, statSync } from 'node:fs';
import { types } from 'node:util';

/** Created for its owner only. Lines are appended (O_APPEND), so that several processes can write to one file. A pipe does not block. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;
const MODE = 0o600;

/** Opens a file for audit lines, and returns its descriptor. Throws an error that names the setting and not the path. */
export function openAuditFile(path: string): number {
  try {
    return openSync(path, FLAGS, MODE);
  } catch (fault) {
    throw new Error(`AUDIT_FILE: cannot be opened for writing (${codeOf(fault)})`, { cause: fault });
  }
}

/**
 * Why a file cannot be used, if it cannot. Otherwise creates it, so that a later fault is a fault of the system. A pipe is not
 * opened: its reader would end when it is closed again.
 */
export function auditFileProblem(path: string): readonly string[] {
  try {
    if (!isPipe(path)) closeSync(openAuditFile(path));
    return [];
  } catch (problem) {
    return [problem instanceof Error ? problem.message : 'AUDIT_FILE: cannot be opened for writing'];
  }
}

function isPipe(path: string): boolean {
  try {
    return statSync(path).isFIFO();
  } catch {
    return false;
  }
}

/** The system's code of a fault, such as `ENOSPC`. */
export function codeOf(fault: unknown): string {
  return types.isNativeError(fault) && 'code' in fault ? String(fault.code) : 'unknown fault';
}
