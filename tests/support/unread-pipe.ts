import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A named pipe that nobody reads until the test does. */
export class UnreadPipe implements Disposable {
  readonly path: string;
  /** For the process that writes. */
  readonly writer: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'unread-pipe-'));
  #reader: number | undefined;

  constructor() {
    this.path = join(this.#folder, 'pipe');
    execFileSync('mkfifo', [this.path]);
    this.openReader();
    this.writer = openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK);
  }

  openReader(): void {
    this.#reader = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  /** From now on a write fails with EPIPE. */
  closeReader(): void {
    if (this.#reader !== undefined) closeSync(this.#reader);
    this.#reader = undefined;
  }

  /** Fills what the system keeps for the reader. */
  fill(): void {
    // A process that has the other one may have made it blocking.
    const writer = openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK);
    for (const size of [4_096, 1]) {
      try {
        for (;;) writeSync(writer, `${' '.repeat(size - 1)}\n`);
      } catch {
        // EAGAIN: it is full.
      }
    }
    closeSync(writer);
  }

  /** Everything that is in the pipe now. */
  read(): string {
    return this.readBytes().toString();
  }

  readBytes(): Buffer {
    const chunks: Buffer[] = [];
    try {
      for (let size = -1; size !== 0; ) {
        const chunk = Buffer.alloc(65_536);
        size = readSync(this.#reader ?? -1, chunk);
        chunks.push(chunk.subarray(0, size));
      }
    } catch {
      // EAGAIN: it is empty.
    }
    return Buffer.concat(chunks);
  }

  /** The writer stays open: what still tries to write to it would write to the next file that gets its number. */
  [Symbol.dispose](): void {
    this.closeReader();
    rmSync(this.#folder, { recursive: true });
  }
}
