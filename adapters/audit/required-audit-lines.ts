import { closeSync, writeSync } from 'node:fs';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import { openAuditFile } from './audit-file.ts';
import { type AuditChange, AuditOutage } from './audit-outage.ts';
import type { AuditLines } from './json-audit-log.ts';

/** The most that waits for the end of a fault: about 1,000 events of keys, which no answer waits for. */
export const KEPT_BYTES_MAX = 256 * 1024;

export interface AuditLinesOptions {
  /** The descriptor to write to: of a file, or of standard output. */
  readonly descriptor: number;
  readonly onChange: (change: AuditChange) => void;
  /** The line that says how many are missing. */
  readonly lossLine: (lines: number) => string;
}

/**
 * Audit lines without which nothing happens: `write` returns when write(2) of the whole line has returned, and throws
 * where it could not. The event loop waits meanwhile. While writing fails, it is tried again for each line and every 250 ms.
 */
export class RequiredAuditLines implements AuditLines, HealthCheck {
  readonly name = 'audit log';
  readonly #lossLine: AuditLinesOptions['lossLine'];
  readonly #outage: AuditOutage;
  #descriptor: number;
  #kept: string[] = [];

  constructor({ descriptor, onChange, lossLine }: AuditLinesOptions) {
    this.#descriptor = descriptor;
    this.#lossLine = lossLine;
    this.#outage = new AuditOutage(onChange, () => this.#resume());
  }

  get linesLost(): number {
    return this.#outage.linesLost;
  }

  get bufferedBytes(): number {
    return this.#kept.reduce((bytes, line) => bytes + Buffer.byteLength(line), 0);
  }

  /** The bound of `bufferedBytes`. */
  get bufferedBytesMax(): number {
    return KEPT_BYTES_MAX;
  }

  readiness(): Readiness {
    const { code } = this.#outage;
    return code === undefined ? { ready: true } : { ready: false, reason: `audit lines cannot be written: ${code}` };
  }

  write(line: string, need: 'before_answer' | 'soon'): void {
    if (this.#outage.fault !== undefined) this.#resume();
    if (this.#outage.fault === undefined && this.#append(line)) return;
    if (need === 'soon' && this.bufferedBytes + Buffer.byteLength(line) <= KEPT_BYTES_MAX) this.#kept.push(line);
    else this.#outage.countLostLine();
    if (need === 'before_answer') throw new DependencyUnavailable('audit log', this.#outage.fault);
  }

  /** Opens the file again, which may have been renamed. Throws the reason if that is not possible: the old one stays open. */
  async reopen(path: string): Promise<void> {
    const old = this.#descriptor;
    this.#descriptor = openAuditFile(path);
    closeSync(old);
    if (this.#outage.fault !== undefined) this.#resume();
  }

  async close(): Promise<void> {
    this.#outage.close();
    if (this.#outage.fault !== undefined) this.#resume();
  }

  /** After a fault, writes the lines that were kept, and then the one that says how many are missing. */
  #resume(): void {
    // Ends the line that the fault has cut, if there is one.
    if (!this.#append('\n')) return;
    for (const line of [...this.#kept]) {
      if (!this.#append(line)) return;
      this.#kept.shift();
    }
    const { unreported } = this.#outage;
    if (unreported > 0 && !this.#append(this.#lossLine(unreported))) return;
    this.#outage.end();
  }

  /** Returns whether everything was written. The system writes a line in one piece, unless the disk is full. */
  #append(text: string): boolean {
    try {
      for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(this.#descriptor, rest));
      return true;
    } catch (fault) {
      this.#outage.begin(fault);
      return false;
    }
  }
}
