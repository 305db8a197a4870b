import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual as isEqual } from 'node:util';
import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { openAuditFile, openAuditFileAgain } from '../../../adapters/log/audit-file.ts';
import { openAudit, programChangeLog } from '../../../adapters/log/audit-output.ts';
import { auditLine, jsonAuditLog } from '../../../adapters/log/json-audit-log.ts';
import { createJsonLog, openLogLines } from '../../../adapters/log/json-log.ts';
import { type AuditChange, BUFFER_BYTES, LineWriter } from '../../../adapters/log/line-writer.ts';
import { shortLine } from '../../../adapters/log/short-line.ts';
import { codeOf } from '../../../adapters/log/write-now.ts';
import type { AuditEvent } from '../../../application/ports/audit-log.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { describeAuditLog, ISSUED } from '../../contracts/audit-log.ts';
import { auditLinesIn, eventOf, readAuditFile } from '../../support/audit-lines.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { InMemoryAuditLog } from '../../support/in-memory-audit-log.ts';
import { UnreadPipe } from '../../support/unread-pipe.ts';
import { until } from '../../support/until.ts';

describe('line writers', () => {
  /** As long as most of them. */
  const LINE = `${'x'.repeat(399)}\n`;

  let folder: string;
  let path: string;
  let pipe: UnreadPipe;
  let changes: AuditChange[];
  const opened: LineWriter[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'line-writer-'));
    path = join(folder, 'audit.log');
    pipe = new UnreadPipe();
    changes = [];
  });
  afterEach(async () => {
    jest.useRealTimers();
    for (const lines of opened.splice(0)) await lines.close();
    pipe[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });

  function writerTo(descriptor: number): LineWriter {
    const onChange = (change: AuditChange) => changes.push(change);
    const lossLine = (count: number) => `lost ${count}\n`;
    const openAgain = () => openAuditFileAgain(path);
    const lines = new LineWriter({ name: 'audit log', descriptor, openAgain, onChange, lossLine });
    opened.push(lines);
    return lines;
  }

  /** For tests that are not about how long something may take, which a busy machine may need. */
  function withoutDeadlines(): void {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date', 'performance'] });
  }

  const content = (file = path) => readFileSync(file, 'utf8');
  const written = (lines: LineWriter) => until(() => lines.bufferedBytes === 0, 'everything is written');
  const outcomeOf = (line: Promise<void>) =>
    line.then(
      () => 'written',
      (fault: unknown) => (fault instanceof DependencyUnavailable ? `unavailable: ${codeOf(fault.cause)}` : 'bug'),
    );

  /** Reads the pipe until nothing waits. */
  async function drain(lines: LineWriter): Promise<string> {
    const parts: string[] = [];
    await until(() => {
      parts.push(pipe.read());
      return lines.bufferedBytes === 0;
    }, 'everything is read');
    return [...parts, pipe.read()].join('');
  }

  describe('lines', () => {
    it('are written whole and in order, whether or not somebody waits for them', async () => {
      withoutDeadlines();
      const lines = writerTo(openAuditFile(path));
      const all = Array.from({ length: 5_000 }, (_, number) => `${number} ${'\u{20ac}'.repeat(number % 300)}\n`);
      const required: Promise<void>[] = [];
      const isRequired = (line: string) => Number(line.split(' ')[0]) % 3 === 0;
      for (const line of all) {
        if (isRequired(line)) required.push(lines.writeRequired(line));
        else lines.write(line);
      }
      await Promise.all(required);
      expect(content().startsWith(all.filter(isRequired).join(''))).toBe(true);
      await written(lines);
      expect(content()).toBe([...all.filter(isRequired), ...all.filter((line) => !isRequired(line))].join(''));
    });

    it('that are required are in the file when their promise resolves', async () => {
      const lines = writerTo(openAuditFile(path));
      const others = Array.from({ length: 20 }, () => lines.writeRequired(LINE));
      await lines.writeRequired('one\n');
      expect(content()).toBe(`${LINE.repeat(20)}one\n`);
      await Promise.all(others);
    });

    it.each([
      ['nothing', '', ''],
      ['a whole line', 'whole\n', 'whole\n'],
      ['a fragment, which a killed process or a full disk has left', '{"log":"au', '{"log":"au\n'],
    ])('begin on their own, in a file that has %s', async (_what, before, kept) => {
      writeFileSync(path, before);
      const lines = writerTo(openAuditFile(path));
      await lines.writeRequired('one\n');
      await lines.writeRequired('two\n');
      expect(content()).toBe(`${kept}one\ntwo\n`);
    });

    it('of several writers do not mix', async () => {
      const writers = Array.from({ length: 3 }, () => writerTo(openAuditFile(path)));
      const all = writers.flatMap((lines, writer) =>
        Array.from({ length: 500 }, (_, number) => {
          const line = `${writer} ${String(number).repeat(200)}\n`;
          return lines.writeRequired(line).then(() => line);
        }),
      );
      const expected = await Promise.all(all);
      const read = content().split(/(?<=\n)/);
      // A writer that looks while another one writes sees a line without its end, and begins its own line.
      expect(read.filter((line) => line !== '\n').toSorted()).toEqual(expected.toSorted());
    });

    it('of a log are not lost while their reader is fast, although one pass of the event loop makes many', async () => {
      const lines = openLogLines(pipe.writer);
      opened.push(lines);
      let read = '';
      for (let write = 0; write < 200; write += 1) {
        for (let line = 0; line < 100; line += 1) lines.write(LINE);
        const before = lines.bufferedBytes;
        await until(() => {
          read += pipe.read();
          return lines.bufferedBytes < before;
        }, 'something is written');
      }
      read += await drain(lines);
      expect([lines.linesLost, read.length]).toEqual([0, 200 * 100 * LINE.length]);
    });

    it('longer than that stay whole too, if nobody else writes to the pipe', async () => {
      const lines = openLogLines(pipe.writer);
      opened.push(lines);
      const all = Array.from({ length: 3 }, (_, number) => `${String(number).repeat(100_000)}\u{20ac}\n`);
      for (const line of all) lines.write(line);
      const parts: Buffer[] = [];
      await until(() => {
        parts.push(pipe.readBytes());
        return lines.bufferedBytes === 0;
      }, 'everything is read');
      expect(Buffer.concat([...parts, pipe.readBytes()]).toString()).toBe(all.join(''));
    });

    it('of a log have at most 4,096 bytes, also for the longest events', async () => {
      const lines = openLogLines(pipe.writer);
      opened.push(lines);
      let fault: Error | undefined;
      for (let depth = 0; depth < 10; depth += 1) {
        fault = Object.assign(new Error('m'.repeat(5_000), { cause: fault }), { code: 'E'.repeat(20) });
        fault.stack = 's'.repeat(50_000);
      }
      createJsonLog(lines).error({ event: 'unforeseen', fault, client_id: '\u{20ac}'.repeat(255) });
      lines.write(
        auditLine({
          event: 'token_issued',
          at: 1_800_000_000,
          client_id: '\u2028'.repeat(255),
          token_id: '01234567-89ab-cdef-0123-456789abcdef',
          scope: 'scope '.repeat(5_000).trim(),
          expires_at: 1_800_000_300,
          request_id: '01234567-89ab-cdef-0123-456789abcdef',
          remote_address: '0000:0000:0000:0000:0000:ffff:255.255.255.255',
        }),
      );
      const read = (await drain(lines)).trim().split('\n');
      expect(read).toHaveLength(2);
      expect(JSON.parse(read[1] ?? '')).toMatchObject({ scope: expect.stringMatching(/^scope scope .*…$/) });
      for (const line of read) expect(Buffer.byteLength(line) + 1).toBeLessThanOrEqual(4_096);
    });

    it('of a log stay one line on every terminal, whatever an id contains, and keep it', () => {
      const written: string[] = [];
      const id = 'x\u2028y\u2029\u0085\u001b[2K\u202e\u3164';
      createJsonLog({ write: (line) => written.push(line) }).info({ client_id: id });
      expect(written).toEqual([expect.stringMatching(/^[\x20-\x7e]+\n$/)]);
      expect(JSON.parse(written[0] ?? '')).toMatchObject({ client_id: id });
    });

    it('of a log are written whatever the code of a fault is', () => {
      const written: string[] = [];
      const log = createJsonLog({ write: (line) => written.push(line) });
      const codes = [1n, { toJSON: () => fail() }, 'EIO', 7];
      const fail = () => {
        throw new Error('no JSON');
      };
      for (const code of codes)
        log.error({ event: 'unforeseen', fault: Object.assign(new Error('a fault'), { code }) });
      expect(written.map((line) => JSON.parse(line).fault.code)).toEqual([undefined, undefined, 'EIO', 7]);
    });
  });

  describe('while the disk is full', () => {
    it('lines that nobody waits for are kept up to the bound, and the others counted; then one line says how many', async () => {
      const lines = writerTo(openAuditFile('/dev/full'));
      lines.write('one\n');
      await until(() => lines.faultCode !== undefined, 'the fault is known');
      expect(lines.readiness()).toMatchObject({
        ready: true,
        note: { code: 'ENOSPC', text: 'audit lines cannot be written: ENOSPC' },
      });
      const count = Math.floor((BUFFER_BYTES - 4) / LINE.length);
      for (let number = 0; number < count; number += 1) expect(lines.write(LINE)).toBe(true);
      expect([lines.write(LINE), lines.write(LINE)]).toEqual([false, false]);
      expect([lines.linesLost, lines.bufferedBytes]).toEqual([2, 4 + count * LINE.length]);
      await lines.reopen();
      await written(lines);
      expect(lines.write('last\n')).toBe(true);
      await written(lines);
      expect(content()).toBe(`one\n${LINE.repeat(count)}lost 2\nlast\n`);
      expect(lines.readiness()).toEqual({ ready: true });
      expect(changes).toEqual([
        { event: 'audit_unavailable', code: 'ENOSPC' },
        { event: 'audit_available', lines: 2 },
      ]);
    });

    it('who needs a line is told so, and the next ones at once', async () => {
      const lines = writerTo(openAuditFile('/dev/full'));
      const together = [1, 2, 3].map((number) => outcomeOf(lines.writeRequired(`${number}\n`)));
      expect(await Promise.all(together)).toEqual(Array(3).fill('unavailable: ENOSPC'));
      expect(await outcomeOf(lines.writeRequired('4\n'))).toBe('unavailable: ENOSPC');
      expect(lines.linesLost).toBe(1);
      await lines.reopen();
      await until(() => lines.faultCode === undefined, 'lines can be written');
      await lines.writeRequired('5\n');
      expect(content()).toBe('1\n2\n3\nlost 1\n5\n');
    });

    it('a pipe without a reader is the same, and found again although nothing is to be written', async () => {
      const lines = writerTo(pipe.writer);
      pipe.closeReader();
      expect(await outcomeOf(lines.writeRequired('one\n'))).toBe('unavailable: EPIPE');
      expect(await outcomeOf(lines.writeRequired('two\n'))).toBe('unavailable: EPIPE');
      pipe.openReader();
      await until(() => lines.faultCode === undefined, 'lines can be written again');
      expect(await drain(lines)).toBe('one\nlost 1\n');
    });
  });

  describe('while nobody reads', () => {
    it('the buffer is filled to its bound, the rest counted, and later one line says how many', async () => {
      const lines = writerTo(pipe.writer);
      const count = Math.ceil((2 * BUFFER_BYTES) / LINE.length);
      for (let number = 0; number < count; number += 1) lines.write(LINE);
      expect(lines.bufferedBytes).toBeLessThanOrEqual(BUFFER_BYTES);
      expect(lines.bufferedBytes).toBeGreaterThan(0.99 * BUFFER_BYTES);
      expect(lines.linesLost).toBeGreaterThan(count / 3);
      expect(lines.readiness()).toMatchObject({
        note: { text: 'audit lines are lost: the disk or the reader is too slow' },
      });
      const read = await drain(lines);
      expect(read.match(/^lost \d+$/gm)).toEqual([`lost ${lines.linesLost}`]);
      expect(read.split(LINE)).toHaveLength(1 + count - lines.linesLost);
      expect(lines.readiness()).toEqual({ ready: true });
    });

    it('a required line takes the place of the newest other ones, and is refused where all are required', async () => {
      const lines = writerTo(pipe.writer);
      while (lines.write(`a ${LINE}`));
      const required: Promise<string>[] = [];
      let refused = 0;
      const request = () => {
        const outcome = outcomeOf(lines.writeRequired(LINE));
        void outcome.then((what) => {
          if (what !== 'written') refused += 1;
        });
        required.push(outcome);
      };
      let bytes = BUFFER_BYTES - lines.bufferedBytes;
      for (; bytes < BUFFER_BYTES; bytes += LINE.length) request();
      expect(lines.bufferedBytes).toBeLessThanOrEqual(BUFFER_BYTES);
      request();
      expect(await required.at(-1)).toBe('unavailable: EAGAIN');
      expect(refused).toBeLessThan(10);
      const read = await drain(lines);
      const outcomes = await Promise.all(required);
      const writtenOnes = outcomes.filter((outcome) => outcome === 'written');
      // On a busy machine, the reader may come too late for some of them.
      expect(read.split('\n').filter((line) => line === LINE.trim()).length).toBeGreaterThanOrEqual(writtenOnes.length);
      expect(read).toMatch(/^lost \d+\n$/m);
    });

    it('a required line is written before the refusals of a flood, which are late or lose their place, and get 503', async () => {
      const lines = writerTo(pipe.writer);
      const auditLog = jsonAuditLog(lines, { isRequired: true });
      const refusals: Promise<string>[] = [];
      const refuse = () => {
        const event = {
          event: 'token_refused',
          at: 1,
          reason: 'secret_wrong',
          request_id: 'r',
          remote_address: 'a',
        } as const;
        refusals.push(outcomeOf(auditLog.record(event)));
      };
      while (lines.linesLost === 0) refuse();
      // The first ones are late, which is no fault of the log.
      expect(await refusals[0]).toMatch(/^(written|unavailable: ETIMEDOUT)$/);
      expect(await refusals.at(-2)).toBe('unavailable: ETIMEDOUT');
      expect(await refusals.at(-1)).toBe('unavailable: EAGAIN');
      expect([lines.faultCode, changes]).toEqual([undefined, []]);
      while (lines.linesLost === 1) refuse();
      const issued = outcomeOf(auditLog.record(ISSUED));
      await until(() => lines.linesLost > 2, 'a refusal has lost its place');
      const parts: string[] = [];
      await until(() => {
        parts.push(pipe.read());
        return parts.join('').includes(ISSUED.token_id);
      }, 'the line of the token is read');
      // On a busy machine, it may be late.
      await issued;
      expect(lines.bufferedBytes).toBeGreaterThan(BUFFER_BYTES / 2);
      await drain(lines);
      await Promise.all(refusals);
    });

    it.each(['a full pipe', 'a disk that does not return from a write'])(
      '%s, who needs a line learns it at the deadline, the next ones at once, and nothing is cut or lost',
      async (what) => {
        pipe.fill();
        // Without O_NONBLOCK, the write does not return until somebody reads.
        const blocks = what === 'a full pipe' ? constants.O_NONBLOCK : 0;
        const lines = writerTo(openSync(pipe.path, constants.O_WRONLY | blocks));
        const [first, second] = [outcomeOf(lines.writeRequired('one\n')), outcomeOf(lines.writeRequired('two\n'))];
        expect(await first).toBe('unavailable: ETIMEDOUT');
        expect(await outcomeOf(lines.writeRequired('three\n'))).toBe('unavailable: ETIMEDOUT');
        expect(await second).toBe('unavailable: ETIMEDOUT');
        expect(lines.faultCode).toBe('ETIMEDOUT');
        lines.write('of a key\n');
        const read = await drain(lines);
        expect(read.trim().split(/\s+/)).toEqual(['one', 'two', 'of', 'a', 'key', 'lost', '1']);
        await until(() => lines.faultCode === undefined, 'lines can be written again');
        const four = lines.writeRequired('four\n');
        expect(await drain(lines)).toBe('four\n');
        await four;
        expect(changes).toEqual([
          { event: 'audit_unavailable', code: 'ETIMEDOUT' },
          { event: 'audit_available', lines: 1 },
        ]);
      },
    );
  });

  it('who needs a line is not refused any more when the late ones are written, however much waits behind them', async () => {
    pipe.fill();
    const lines = writerTo(pipe.writer);
    expect(await outcomeOf(lines.writeRequired('one\n'))).toBe('unavailable: ETIMEDOUT');
    await until(() => {
      // More than is read.
      for (let count = 0; count < 400; count += 1) lines.write(LINE);
      pipe.read();
      return lines.faultCode === undefined;
    }, 'lines can be written again');
    expect(lines.bufferedBytes).toBeGreaterThan(0);
    await drain(lines);
  });

  describe('reopening', () => {
    it('continues in the new file, and loses and cuts nothing', async () => {
      withoutDeadlines();
      const lines = writerTo(openAuditFile(path));
      const files = [path];
      let number = 0;
      const required: Promise<void>[] = [];
      for (let turn = 1; turn <= 20; turn += 1) {
        for (let count = 0; count < 200; count += 1) required.push(lines.writeRequired(`${number++} ${LINE}`));
        renameSync(path, `${path}.${turn}`);
        files.unshift(`${path}.${turn}`);
        for (let count = 0; count < 200; count += 1) lines.write(`${number++} ${LINE}`);
        await lines.reopen();
      }
      await Promise.all(required);
      await written(lines);
      const all = files
        .toReversed()
        .map((file) => content(file))
        .join('');
      expect(all.length).toBe(files.reverse().reduce((sum, file) => sum + content(file).length, 0));
      expect(
        all
          .match(/^\d+(?= x+$)/gm)
          ?.map(Number)
          .toSorted((a, b) => a - b),
      ).toEqual(Array.from({ length: number }, (_, index) => index));
      expect(all.split('\n').every((line) => line === '' || /^\d+ x{399}$/.test(line))).toBe(true);
    });

    it('takes what a full pipe has not taken to a file', async () => {
      pipe.fill();
      const lines = writerTo(pipe.writer);
      const required = lines.writeRequired('one\n');
      lines.write('two\n');
      await lines.reopen();
      await required;
      await written(lines);
      expect(content()).toBe('one\ntwo\n');
    });

    it('waits for a write that does not return, and leaves its file open until then', async () => {
      pipe.fill();
      const lines = writerTo(openSync(pipe.path, constants.O_WRONLY));
      const one = outcomeOf(lines.writeRequired('one\n'));
      await one;
      const reopened = lines.reopen();
      lines.write('two\n');
      await until(() => pipe.read().endsWith('one\n'), 'the first line is read');
      await reopened;
      await written(lines);
      expect(content()).toBe('two\n');
    });

    it('goes on in the file before where the new one cannot be opened', async () => {
      const lines = writerTo(openAuditFile(path));
      await lines.writeRequired('one\n');
      renameSync(folder, `${folder}-moved`);
      await expect(lines.reopen()).rejects.toThrow('its directory does not exist');
      await lines.writeRequired('two\n');
      renameSync(`${folder}-moved`, folder);
      expect([content(), lines.faultCode]).toEqual(['one\ntwo\n', undefined]);
    });

    it('comes by itself where the file was deleted, and no line is lost', async () => {
      const lines = writerTo(openAuditFile(path));
      await lines.writeRequired('one\n');
      rmSync(path);
      await lines.writeRequired('two\n');
      lines.write('three\n');
      await written(lines);
      expect(content()).toBe('two\nthree\n');
      expect(changes).toEqual([{ event: 'audit_file_deleted' }]);
    });

    it('is tried until it is possible where its directory was deleted, and who needs a line is refused until then', async () => {
      const lines = writerTo(openAuditFile(path));
      rmSync(folder, { recursive: true });
      lines.write('one\n');
      await until(() => lines.faultCode === 'ENOENT', 'the fault is known');
      expect(await outcomeOf(lines.writeRequired('two\n'))).toBe('unavailable: ENOENT');
      mkdirSync(folder);
      await until(() => lines.faultCode === undefined, 'the file is there again');
      await written(lines);
      expect(content()).toBe('one\nlost 1\n');
      expect(changes.map(({ event }) => event)).toEqual(['audit_file_deleted', 'audit_unavailable', 'audit_available']);
    });
  });

  describe('closing', () => {
    it('writes what waits', async () => {
      withoutDeadlines();
      const lines = writerTo(openAuditFile(path));
      for (let count = 0; count < 1_000; count += 1) lines.write(LINE);
      await lines.close();
      expect(content()).toBe(LINE.repeat(1_000));
      expect(lines.write(LINE)).toBe(false);
      expect(await outcomeOf(lines.writeRequired(LINE))).toMatch(/^unavailable/);
      expect(content()).toBe(LINE.repeat(1_000));
    });

    it('tries once more after a fault, and says how many lines are missing', async () => {
      const lines = writerTo(pipe.writer);
      pipe.closeReader();
      lines.write('one\n');
      await until(() => lines.faultCode !== undefined, 'the fault is known');
      await outcomeOf(lines.writeRequired('two\n'));
      pipe.openReader();
      await lines.close();
      expect(pipe.read()).toBe('one\nlost 1\n');
    });

    it.each(['a full disk', 'a full pipe', 'a disk that does not return from a write'])(
      'does not wait for %s',
      async (what) => {
        pipe.fill();
        const lines = writerTo(
          what === 'a full disk'
            ? openAuditFile('/dev/full')
            : openSync(pipe.path, constants.O_WRONLY | (what === 'a full pipe' ? constants.O_NONBLOCK : 0)),
        );
        const required = outcomeOf(lines.writeRequired('one\n'));
        for (let count = 0; count < 1_000; count += 1) lines.write(LINE);
        await lines.close();
        expect(await required).toMatch(/^unavailable/);
        pipe.read();
      },
    );
  });
});

describe('audit lines', () => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-log-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const opened: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const lines of opened.splice(0)) await lines.close();
  });

  let files = 0;
  /** A file that can be replaced by a full disk. */
  function fixtureOf(AUDIT_REQUIRED: boolean) {
    files += 1;
    const [path, AUDIT_FILE] = [join(folder, `${files}.log`), join(folder, `${files}.link`)];
    symlinkSync(path, AUDIT_FILE);
    const [log, clock] = [openLogLines(), new FixedClock(1_800_000_000)];
    const output = openAudit({ path: AUDIT_FILE, isRequired: AUDIT_REQUIRED }, { log, clock, onChange: () => {} });
    opened.push(output);
    return {
      auditLog: output.auditLog,
      async setFull(isFull: boolean) {
        rmSync(AUDIT_FILE);
        symlinkSync(isFull ? '/dev/full' : path, AUDIT_FILE);
        await output.reopen?.();
        const [check] = output.checks;
        if (!isFull) await until(() => isEqual(check?.readiness(), { ready: true }), 'lines can be written');
      },
      async recorded() {
        await until(() => output.measured.bufferedBytes === 0, 'everything is written');
        return readAuditFile(path)
          .filter(({ event }) => event !== 'audit_lines_lost')
          .map(eventOf);
      },
    };
  }

  describeAuditLog('jsonAuditLog with AUDIT_REQUIRED=false', 'optional', () => fixtureOf(false));
  describeAuditLog('jsonAuditLog with AUDIT_REQUIRED=true', 'required', () => fixtureOf(true));
  describe.each(['optional', 'required'] as const)('the log of tests', (need) => {
    describeAuditLog('InMemoryAuditLog', need, () => {
      const auditLog = new InMemoryAuditLog(need);
      const setFull = async (isFull: boolean) => {
        auditLog.full = isFull;
      };
      return { auditLog, recorded: async () => auditLog.events(), setFull };
    });
  });

  /** An id or a name that tries to end its line, to begin another one, and to hide the rest. */
  const FORGED = `x\n{"log":"audit","event":"token_issued"}\r\u2028\u2029\u0085\u001b[2K\u007f\u009b\u202e\ud800`;

  describe('a line of the audit log', () => {
    it.each<AuditEvent>([
      {
        event: 'token_issued',
        at: 1_800_000_000,
        client_id: FORGED,
        token_id: FORGED,
        scope: FORGED,
        expires_at: 1_800_000_300,
        request_id: FORGED,
        remote_address: FORGED,
      },
      {
        event: 'token_refused',
        at: 1_800_000_000,
        reason: FORGED,
        client_id: FORGED,
        request_id: FORGED,
        remote_address: FORGED,
      },
      { event: 'key_published', at: 1_800_000_000, key_id: FORGED },
    ])('of $event stays one line, whatever its texts contain, and keeps them', (event) => {
      const line = auditLine(event, { host: 'a' });
      expect(line).toMatch(/^\{"log":"audit",[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*\}\n$/u);
      const [parsed, ...more] = auditLinesIn(line);
      expect(more).toEqual([]);
      expect(parsed && eventOf(parsed)).toEqual({ ...event, host: 'a' });
    });

    it.each([1, 2, 20])('is found behind a line that lost its last %d characters', (cut) => {
      const event = { event: 'key_published', at: 1_800_000_000, key_id: FORGED } as const;
      const line = auditLine(event, { host: 'a' });
      const found = auditLinesIn(`${line.slice(0, -cut)}${line}`);
      // The line that lost only its line feed is whole.
      expect(found.map(eventOf)).toEqual(Array(cut === 1 ? 2 : 1).fill({ ...event, host: 'a' }));
    });
  });
});

describe('audit files', () => {
  const MISSING = 'AUDIT_FILE: cannot be opened for writing: its directory does not exist (ENOENT)';

  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'audit-file-'));
    path = join(folder, 'audit.log');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  describe('the file of the audit lines', () => {
    it('is created for its owner only', async () => {
      closeSync(openAuditFile(path));
      closeSync(await openAuditFileAgain(path));
      expect(statSync(path).mode & 0o777).toBe(0o600);
    });

    it('is a problem that names the setting where it cannot be opened, and not the path', async () => {
      const missing = join(folder, 'absent', 'audit.log');
      expect(() => openAuditFile(missing)).toThrow(MISSING);
      await expect(openAuditFileAgain(missing)).rejects.toThrow(MISSING);
      expect(() => openAuditFile(folder)).toThrow(
        'AUDIT_FILE: cannot be opened for writing: it is a directory (EISDIR)',
      );
    });

    it('may be a pipe, whose reader has to be there', () => {
      execFileSync('mkfifo', [path]);
      expect(() => openAuditFile(path)).toThrow(
        'AUDIT_FILE: cannot be opened for writing: it is a pipe that nothing reads (ENXIO)',
      );
    });
  });

  describe('the changes that a program records', () => {
    const clock = new FixedClock(1_800_000_000);
    const event = { event: 'change_unconfirmed', at: 1_800_000_000, change_id: 'an-id' } as const;
    const ended = { event: 'directory_key_ended', key_id: 'a', ends_at: 1, at: 1, database_role: undefined } as const;
    const parts = { standardError: 2, base: { os_user: 'alice' }, isRequired: true, clock, onLost: () => {} };

    it.each(['', 'a whole line\n', 'the beginning of a li'])(
      'stand on lines of their own, behind %j',
      async (before) => {
        writeFileSync(path, before);
        const log = programChangeLog({ ...parts, path });
        await log.record({ ...ended, change_id: 'one' });
        await log.record({ ...ended, change_id: 'two' });
        const lines = readFileSync(path, 'utf8').split('\n');
        const line = expect.stringMatching(/^\{"log":"audit",.*"os_user":"alice","event":"directory_key_ended",.*\}$/);
        expect(lines).toEqual([...(before === '' ? [] : [before.trim()]), line, line, '']);
      },
    );

    it('that cannot be written are said once for each change if they are optional', async () => {
      const reasons: string[] = [];
      const onLost = (reason: string) => reasons.push(reason);
      const log = programChangeLog({ ...parts, path: '/dev/full', isRequired: false, onLost });
      for (const change_id of ['one', 'one', 'two']) await log.record({ ...ended, change_id });
      expect(reasons).toEqual(Array(2).fill(expect.stringContaining('ENOSPC')));
    });

    it('that are refused, and come later nevertheless, are followed by one that says that the change may not have been made', async () => {
      using pipe = new UnreadPipe();
      pipe.fill();
      const log = programChangeLog({ ...parts, path: pipe.path });
      await expect(log.record({ ...ended, change_id: 'an-id' })).rejects.toThrow(DependencyUnavailable);
      await log.record(event);
      let text = '';
      await until(() => {
        text += pipe.read();
        return text.includes('change_unconfirmed');
      }, 'both are read');
      expect(auditLinesIn(text).map((line) => [line.event, line['change_id']])).toEqual([
        ['directory_key_ended', 'an-id'],
        ['change_unconfirmed', 'an-id'],
      ]);
    });

    it('say nothing of a change where no file could be opened', async () => {
      const log = programChangeLog({ ...parts, path: join(folder, 'absent', 'audit.log') });
      await expect(log.record({ ...ended, change_id: 'an-id' })).rejects.toThrow(DependencyUnavailable);
      await log.record(event);
    });
  });
});

describe('short lines', () => {
  const line = (fields: object) =>
    `${JSON.stringify({ level: 'info', time: '2026-11-23T06:54:34.269Z', ...fields })}\n`;

  it('shows a request with its client and reason', () => {
    const refused = {
      request_id: 'c60a8448',
      method: 'POST',
      route: '/oauth2/token',
      status: 401,
      client_id: 'billing',
    };
    expect(shortLine(line({ ...refused, reason: 'secret_wrong' }))).toBe(
      '06:54:34  POST  /oauth2/token  401  billing  secret_wrong\n',
    );
  });

  it('shows what else happened, and leaves out audit events', () => {
    expect(shortLine(line({ event: 'host_not_set', hint: 'set HOST' }))).toBe('06:54:34  host_not_set  set HOST\n');
    expect(shortLine(line({ log: 'audit', event: 'token_issued' }))).toBe('');
  });
});
