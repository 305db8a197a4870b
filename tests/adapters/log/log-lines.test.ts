import { openSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { jsonAuditLog } from '../../../adapters/log/json-audit-log.ts';
import { createJsonLog, openLogLines } from '../../../adapters/log/json-log.ts';
import { BUFFER_BYTES, type LineWriter, PIPE_BUF_BYTES } from '../../../adapters/log/line-writer.ts';
import { UnreadPipe } from '../../support/unread-pipe.ts';
import { until } from '../../support/until.ts';

const TEXT = 'x'.repeat(500);

interface Line {
  readonly event?: string;
  readonly number?: number;
  readonly lines?: number;
}

describe('the lines of the log', () => {
  let pipe: UnreadPipe;
  let destination: LineWriter;
  let text = '';
  beforeEach(() => {
    text = '';
    pipe = new UnreadPipe();
    destination = openLogLines({}, pipe.writer);
  });
  afterEach(() => pipe[Symbol.dispose]());

  /** Reads until a line matches, and returns all lines so far. */
  async function readUntil(matches: (line: Line) => boolean): Promise<readonly Line[]> {
    let lines: readonly Line[] = [];
    await until(() => {
      text += pipe.read();
      const whole = text.slice(0, text.lastIndexOf('\n') + 1).trim();
      lines = whole === '' ? [] : whole.split('\n').map((line) => JSON.parse(line) as Line);
      return lines.some(matches);
    }, 'the line is read');
    return lines;
  }

  it('keeps at most the size of its buffer for a reader that has stopped, counts the rest, and then says how many', async () => {
    const log = createJsonLog(destination);
    const count = 2 * Math.ceil(BUFFER_BYTES.drop / TEXT.length);
    for (let number = 0; number < count; number += 1) log.info({ number, text: TEXT });
    expect(destination.bufferedBytes).toBeLessThanOrEqual(BUFFER_BYTES.drop);
    expect(destination.bufferedBytes).toBeGreaterThan(0.99 * BUFFER_BYTES.drop);
    expect(destination.linesLost).toBeGreaterThan(count / 3);
    expect(destination.readiness()).toEqual({ ready: true, note: 'log lines are lost: the reader is too slow' });

    const lines = await readUntil(({ event }) => event === 'log_lines_lost');
    const numbers = lines.flatMap(({ number }) => number ?? []);
    expect(numbers).toEqual(Array.from(numbers, (_, index) => index));
    expect(lines.at(-1)).toMatchObject({ event: 'log_lines_lost', lines: count - numbers.length });
    expect(destination.linesLost).toBe(count - numbers.length);
    await until(() => destination.bufferedBytes === 0, 'everything is written');
    expect(destination.readiness()).toEqual({ ready: true });
  });

  it('loses lines while its reader is away, and goes on with the next reader', async () => {
    const log = createJsonLog(destination);
    pipe.closeReader();
    log.info({ number: 0 });
    await until(() => 'note' in destination.readiness(), 'the fault is known');
    expect(destination.readiness()).toEqual({ ready: true, note: 'log lines are lost: EPIPE' });
    for (let number = 1; number <= 50; number += 1) log.info({ number });
    const lostBefore = destination.linesLost;
    expect(lostBefore).toBeGreaterThan(0);
    pipe.openReader();
    const lines = await readUntil(({ event }) => event === 'log_lines_lost');
    const numbers = lines.flatMap(({ number }) => number ?? []);
    expect(lines.at(-1)).toMatchObject({ lines: 51 - numbers.length });
    expect(destination.readiness()).toEqual({ ready: true });
    log.info({ number: 51 });
    await readUntil(({ number }) => number === 51);
    expect(destination.linesLost).toBe(lostBefore);
  });

  it('counts lines that a full device does not take', async () => {
    // It stays open: the destination goes on trying, and would write to the next file that gets its number.
    const full = openSync('/dev/full', 'w');
    const toFull = openLogLines({}, full);
    const log = createJsonLog(toFull);
    log.info({ number: 0 });
    await until(() => 'note' in toFull.readiness(), 'the fault is known');
    log.info({ number: 1 });
    expect(toFull.linesLost).toBe(1);
    expect(toFull.readiness()).toEqual({ ready: true, note: 'log lines are lost: ENOSPC' });
  });

  it('goes on in the middle of a line of which the reader has taken a part', async () => {
    // The system writes what is longer than PIPE_BUF as far as the pipe has room.
    const all = Array.from({ length: 3 }, (_, number) => `${String(number).repeat(100_000)}\u{20ac}\n`);
    for (const line of all) destination.write(line);
    const parts: Buffer[] = [];
    await until(() => {
      parts.push(pipe.readBytes());
      return Buffer.concat(parts).length === Buffer.byteLength(all.join(''));
    }, 'everything is read');
    expect(Buffer.concat(parts).toString()).toBe(all.join(''));
    await until(() => destination.bufferedBytes === 0, 'nothing waits');
  });

  it('writes whole lines of at most 4,096 bytes, also for the longest events', async () => {
    const log = createJsonLog(destination, { worker: 1_000 });
    let fault: Error | undefined;
    for (let depth = 0; depth < 10; depth += 1) {
      fault = Object.assign(new Error('m'.repeat(5_000), { cause: fault }), { code: 'E'.repeat(20) });
      fault.stack = 's'.repeat(50_000);
    }
    log.error({ event: 'unforeseen', fault, client_id: '\u{20ac}'.repeat(255) });
    jsonAuditLog(destination, { worker: 1_000 }).record({
      event: 'token_issued',
      at: 1_800_000_000,
      client_id: '\u2028'.repeat(255),
      token_id: '01234567-89ab-cdef-0123-456789abcdef',
      scope: 'scope '.repeat(5_000).trim(),
      expires_at: 1_800_000_300,
      request_id: '01234567-89ab-cdef-0123-456789abcdef',
      remote_address: '0000:0000:0000:0000:0000:ffff:255.255.255.255',
    });
    const lines = await readUntil(({ event }) => event === 'token_issued');
    expect(lines).toHaveLength(2);
    expect(lines.at(-1)).toMatchObject({ scope: expect.stringMatching(/^scope scope .*…$/) });
    for (const line of text.split('\n')) expect(Buffer.byteLength(line) + 1).toBeLessThanOrEqual(PIPE_BUF_BYTES);
  });
});
