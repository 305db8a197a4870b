import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import sonicBoom from 'sonic-boom';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';

/** What the kernel writes to a pipe in one piece, so lines of several processes do not mix (POSIX: PIPE_BUF). */
export const PIPE_BUF_BYTES = 4_096;

/** The most that waits in one process for a slow or stopped reader: about 8,000 requests. */
export const LOG_BUFFER_BYTES = 4 * 1024 * 1024;

/** When to try again: after a moment if the reader is slow (EAGAIN), otherwise later. Milliseconds. */
const READER_RETRY_MS = 10;
const FAULT_RETRY_MS = 250;

/** How long an ending process waits for a slow reader. Milliseconds. */
const EXIT_FLUSH_MS = 250;

/** The beginning of a line with an audit event. */
const AUDIT_LINE = '{"log":"audit"';

/** Where losses are reported. */
export interface LossLog {
  warn(line: { readonly event: 'log_lines_lost'; readonly lines: number }): void;
}

/**
 * Standard output as the destination of the log. A log that cannot be written delays no request and does not end the
 * process: lines wait in a buffer of bounded size for a reader that is slow, and are lost, and counted, when it is full and
 * while writing fails (ENOSPC, EIO, EPIPE). Writing continues when it is possible again, after a line with the number of
 * lost lines. Lines of up to PIPE_BUF_BYTES stay whole.
 */
export class LogDestination extends sonicBoom.SonicBoom implements HealthCheck {
  readonly name = 'log';
  // Declared by sonic-boom, except in its types. Its own flushSync tries for ever if writing fails.
  declare protected readonly _bufs: readonly string[];
  declare protected readonly _writingBuf: string | Buffer;
  declare protected readonly _writing: boolean;
  declare protected readonly _len: number;
  declare protected readonly fd: number;
  declare protected maxLength: number;
  #linesLost = 0;
  #auditLinesLost = 0;
  #linesUnreported = 0;
  #fault: string | undefined;
  #retry: NodeJS.Timeout | undefined;
  #log: LossLog | undefined;

  /** @param fd the file descriptor of standard output, by default. */
  constructor(fd = nonBlockingStandardOutput()) {
    super({ fd, maxWrite: PIPE_BUF_BYTES, maxLength: LOG_BUFFER_BYTES, retryEAGAIN: () => false });
    this.on('drop', (line) => this.#countLostLine(String(line)));
    this.on('error', (fault: NodeJS.ErrnoException) => this.#onFault(fault.code ?? fault.name));
  }

  /** Reports losses to this log, which writes to this destination, and writes what waits when the process exits. */
  attach(log: LossLog): void {
    this.#log = log;
    process.once('exit', () => this.#flushAtExit());
  }

  /** The file descriptor that it writes to. */
  get descriptor(): number {
    return this.fd;
  }

  /** Lines that were lost since the process started. */
  get linesLost(): number {
    return this.#linesLost;
  }

  /** Those of them that were audit events. */
  get auditLinesLost(): number {
    return this.#auditLinesLost;
  }

  /** Bytes that wait to be written: at most {@link LOG_BUFFER_BYTES} and one report of lost lines. */
  get bufferedBytes(): number {
    return this._len;
  }

  get bufferedBytesMax(): number {
    return LOG_BUFFER_BYTES;
  }

  /** Always ready: without a log the service still works. The note says why lines are lost now. */
  readiness(): Readiness {
    if (this.#fault !== undefined) return { ready: true, note: `log lines are lost: ${this.#fault}` };
    if (this.#linesUnreported > 0) return { ready: true, note: 'log lines are lost: the reader is too slow' };
    return { ready: true };
  }

  #countLostLine(line: string): void {
    this.#linesLost += 1;
    if (line.startsWith(AUDIT_LINE)) this.#auditLinesLost += 1;
    this.#linesUnreported += 1;
    if (this.#linesUnreported === 1) this.once('write', () => this.#onWritten());
  }

  #onFault(code: string): void {
    const slow = code === 'EAGAIN' || code === 'EBUSY';
    if (!slow && this.#fault === undefined) {
      this.#fault = code;
      this.once('write', () => this.#onWritten());
    }
    // While writing fails, the buffer keeps what it has, and a new line is lost at once instead of when the buffer is full.
    if (!slow) this.maxLength = 1;
    this.#retry ??= setTimeout(() => this.#tryAgain(), slow ? READER_RETRY_MS : FAULT_RETRY_MS).unref();
  }

  #tryAgain(): void {
    this.#retry = undefined;
    // Starts writing again. The empty line must not be taken for one too many.
    this.#writeWithoutLimit(() => this.write(''));
  }

  /** The event precedes the accounting of what was written, so the report waits until that is complete. */
  #onWritten(): void {
    this.#fault = undefined;
    setImmediate(() => {
      const lines = this.#linesUnreported;
      if (lines === 0) return;
      this.#linesUnreported = 0;
      // This line must not be lost itself.
      this.#writeWithoutLimit(() => this.#log?.warn({ event: 'log_lines_lost', lines }));
    });
  }

  #writeWithoutLimit(write: () => void): void {
    this.maxLength = 0;
    write();
    this.maxLength = LOG_BUFFER_BYTES;
  }

  /** Gives up when writing fails. */
  #flushAtExit(): void {
    const giveUpAt = performance.now() + EXIT_FLUSH_MS;
    const started = this._writing ? [] : [this._writingBuf];
    for (const piece of [...started, ...this._bufs]) {
      let rest = Buffer.from(piece);
      while (rest.length > 0) {
        try {
          rest = rest.subarray(writeSync(this.fd, rest));
        } catch (fault) {
          const slow = fault instanceof Error && 'code' in fault && fault.code === 'EAGAIN';
          if (!slow || performance.now() > giveUpAt) return;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READER_RETRY_MS);
        }
      }
    }
  }
}

/**
 * A full pipe or a halted terminal must not hold a thread of the pool, which BCrypt and DNS need too. All processes of the
 * service share the open file of standard output, and Node.js makes it blocking whenever it starts another process. So this
 * process opens it again for itself. Where the system does not allow that, as for sockets, Node.js makes it non-blocking
 * for a while when `process.stdout` is first used.
 */
function nonBlockingStandardOutput(): number {
  try {
    const kind = fstatSync(1);
    if (kind.isFIFO() || kind.isCharacterDevice()) {
      return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    }
  } catch {
    // No /proc, or the open file belongs to another user.
  }
  return process.stdout.fd;
}
