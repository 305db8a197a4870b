import { closeSync, write, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import { codeOf, openAuditFile } from './audit-file.ts';
import { AuditOutage } from './audit-outage.ts';
import type { AuditLines } from './json-audit-log.ts';
import type { AuditLinesOptions } from './required-audit-lines.ts';

/** The most that waits in one process for a slow disk: about 10,000 events. */
export const AUDIT_BUFFER_BYTES = 4 * 1024 * 1024;

/** The most of several lines in one write(2), so that a pipe takes it in one piece (POSIX: PIPE_BUF). */
const BATCH_BYTES = 4_096;

/** When to try again to write to a pipe whose reader is slow, in milliseconds. */
const READER_RETRY_MS = 10;

/** How long a process that ends waits for the disk, in milliseconds. */
const CLOSE_MS = 250;

const writeBytes = promisify(write);

/**
 * Audit lines that no request waits for. They wait in a buffer of bounded size, and are written in another thread. Lines
 * are lost, and counted, when the buffer is full and while writing fails. Writing continues when it is possible again: with
 * the lines that waited, and then the line that says how many are missing.
 */
export class BufferedAuditLines implements AuditLines, HealthCheck {
  readonly name = 'audit log';
  readonly #lossLine: AuditLinesOptions['lossLine'];
  readonly #outage: AuditOutage;
  #descriptor: number;
  #waiting: Buffer[] = [];
  #bytes = 0;
  /** Runs while lines wait. */
  #writing: Promise<void> | undefined;
  /** The write in progress, and the number of its lines. */
  #batch: { readonly lines: number; readonly written: Promise<{ readonly bytesWritten: number }> } | undefined;
  /** Whether the file may end in the middle of a line. */
  #isCut = false;

  constructor({ descriptor, onChange, lossLine }: AuditLinesOptions) {
    this.#descriptor = descriptor;
    this.#lossLine = lossLine;
    this.#outage = new AuditOutage(onChange, () => this.#start());
    process.once('exit', this.#writeAtExit);
  }

  get linesLost(): number {
    return this.#outage.linesLost;
  }

  /** Bytes that wait to be written: at most {@link AUDIT_BUFFER_BYTES} and one line about lost ones. */
  get bufferedBytes(): number {
    return this.#bytes;
  }

  /** The bound of `bufferedBytes`, without that line. */
  get bufferedBytesMax(): number {
    return AUDIT_BUFFER_BYTES;
  }

  /** Always ready: the service works without these lines. The note says why some are lost now. */
  readiness(): Readiness {
    const { code, unreported } = this.#outage;
    if (code !== undefined) return { ready: true, note: `audit lines are lost: ${code}` };
    if (unreported > 0) return { ready: true, note: 'audit lines are lost: the disk is too slow' };
    return { ready: true };
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#outage.fault !== undefined || this.#bytes + bytes.length > AUDIT_BUFFER_BYTES) {
      this.#outage.countLostLine();
    } else {
      this.#add(bytes);
      this.#start();
    }
  }

  /**
   * Opens the file again, which may have been renamed, and writes what waits to the new one. Rejects with the reason if
   * that is not possible: the old one stays open.
   */
  async reopen(path: string): Promise<void> {
    const old = this.#descriptor;
    this.#descriptor = openAuditFile(path);
    this.#start();
    // A write in progress goes to the old file.
    await this.#batch?.written.catch(() => {});
    closeSync(old);
  }

  /** Waits a moment until everything is written. */
  async close(): Promise<void> {
    await Promise.race([this.#writing, delay(CLOSE_MS, undefined, { ref: false })]);
    this.#outage.close();
    this.#writeAtExit();
    process.off('exit', this.#writeAtExit);
    // A write that hangs would continue in the next file with this number.
    if (this.#batch === undefined) closeSync(this.#descriptor);
  }

  #add(line: Buffer): void {
    this.#waiting.push(line);
    this.#bytes += line.length;
  }

  #start(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#waiting.length > 0) await this.#writeBatch();
    } catch (fault) {
      this.#batch = undefined;
      if (codeOf(fault) === 'EAGAIN') {
        setTimeout(() => this.#start(), READER_RETRY_MS).unref();
      } else {
        this.#isCut = true;
        this.#outage.begin(fault);
      }
    }
  }

  async #writeBatch(): Promise<void> {
    // The end of a line that a fault has cut, maybe in another process.
    const begin = Buffer.from(this.#isCut ? '\n' : '');
    const lines = this.#nextLines();
    this.#batch = {
      lines: lines.length,
      written: writeBytes(this.#descriptor, Buffer.concat([begin, ...lines])),
    };
    const { bytesWritten } = await this.#batch.written;
    this.#batch = undefined;
    let rest = bytesWritten - begin.length;
    for (const line of lines) {
      if (rest < line.length) break;
      rest -= line.length;
      this.#bytes -= line.length;
      this.#waiting.shift();
    }
    // A line that is not whole is written again. The system's reason comes with that write.
    this.#isCut = rest !== 0;
    if (!this.#isCut) this.#reportLoss();
  }

  #nextLines(): readonly Buffer[] {
    let bytes = 0;
    const end = this.#waiting.findIndex((line, index) => {
      bytes += line.length;
      return index > 0 && bytes > BATCH_BYTES;
    });
    return this.#waiting.slice(0, end === -1 ? undefined : end);
  }

  /** Not while the buffer is nearly full: each line about loss would cost another line. */
  #reportLoss(): void {
    const { fault, unreported } = this.#outage;
    if (fault === undefined && this.#bytes > AUDIT_BUFFER_BYTES / 2) return;
    if (unreported > 0) this.#add(Buffer.from(this.#lossLine(unreported)));
    this.#outage.end();
  }

  /** With the line about lost ones, since there is no next write that could bring it. Gives up when writing fails. */
  readonly #writeAtExit = (): void => {
    const lines = this.#waiting.splice(this.#batch?.lines ?? 0);
    if (this.#outage.unreported > 0) lines.push(Buffer.from(this.#lossLine(this.#outage.unreported)));
    if (this.#isCut) lines.unshift(Buffer.from('\n'));
    try {
      for (const line of lines) writeSync(this.#descriptor, line);
    } catch {
      // The process ends.
    }
  };
}
