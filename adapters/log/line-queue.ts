/** The most that waits: about 10,000 lines. */
export const BUFFER_BYTES = 4 * 1024 * 1024;

/** A line with its line feed. */
export interface Line {
  readonly text: string;
  readonly bytes: number;
  /** Called once: without a fault when the line is written. */
  settle?: ((fault?: unknown) => void) | undefined;
}

/** Lines that wait to be written, in order, and the number of those that were lost. */
export class LineQueue {
  readonly #lines: Line[] = [];
  #bytes = 0;
  #lost = 0;
  #reported = 0;

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** Of all lines, those of a batch included. */
  get bytes(): number {
    return this.#bytes;
  }

  get lost(): number {
    return this.#lost;
  }

  /** Whether lines are missing of which no line tells yet. */
  get hasGap(): boolean {
    return this.#lost > this.#reported;
  }

  includes(line: Line): boolean {
    return this.#lines.includes(line);
  }

  /** Returns undefined if there is no room. */
  add(text: string): Line | undefined {
    const bytes = Buffer.byteLength(text);
    return this.#bytes + bytes > BUFFER_BYTES ? undefined : this.#push({ text, bytes });
  }

  lose(): false {
    this.#lost += 1;
    return false;
  }

  /** Adds the line that says how many are missing, if there are any. It needs no room. Returns their number. */
  report(lossLine: (lines: number) => string): number {
    const lines = this.#lost - this.#reported;
    this.#reported = this.#lost;
    const text = lines > 0 ? lossLine(lines) : '';
    if (lines > 0) this.#push({ text, bytes: Buffer.byteLength(text) });
    return lines;
  }

  /** Takes out the first lines: at least one if there is one. */
  takeBatch(bytesMax: number): readonly Line[] {
    let [size, count] = [0, 0];
    for (const { bytes } of this.#lines) {
      size += bytes;
      if (count > 0 && size > bytesMax) break;
      count += 1;
    }
    return this.#lines.splice(0, count);
  }

  /** Of the batch, so many bytes are written. The other lines are the first ones again. */
  settle(batch: readonly Line[], written: number): void {
    let rest = written;
    for (const [index, line] of batch.entries()) {
      rest -= line.bytes;
      if (rest < 0) {
        this.#lines.unshift(...batch.slice(index));
        return;
      }
      this.#bytes -= line.bytes;
      line.settle?.();
    }
  }

  /** Tells all who wait. The lines stay. */
  fail(fault: unknown): void {
    for (const line of this.#lines) line.settle?.(fault);
  }

  #push(line: Line): Line {
    this.#lines.push(line);
    this.#bytes += line.bytes;
    return line;
  }
}
