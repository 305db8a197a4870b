import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { auditFileProblem, openAuditFile } from '../../../adapters/log/audit-file.ts';
import { type AuditChange, BUFFER_BYTES, LineWriter } from '../../../adapters/log/line-writer.ts';
import { UnreadPipe } from '../../support/unread-pipe.ts';
import { until } from '../../support/until.ts';

/** As long as most of them. */
const KEY_LINE = `${'k'.repeat(255)}\n`;

let folder: string;
let path: string;
let changes: AuditChange[];
const opened: { close(): Promise<void> }[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-lines-'));
  path = join(folder, 'audit.log');
  changes = [];
});
afterEach(async () => {
  for (const lines of opened.splice(0)) await lines.close();
  rmSync(folder, { recursive: true });
});

function open(policy: 'drop' | 'throw', file = path): LineWriter {
  const onChange = (change: AuditChange) => changes.push(change);
  const lossLine = (count: number) => `lost ${count}\n`;
  const lines = new LineWriter({ policy, kind: 'audit', descriptor: openAuditFile(file), onChange, lossLine });
  opened.push(lines);
  return lines;
}

function content(file = path): string {
  return readFileSync(file, 'utf8');
}

describe('the file of the audit lines', () => {
  it('is created for its owner only, and appended to', () => {
    const lines = open('throw');
    lines.write('one\n', 'before_answer');
    open('throw').write('two\n', 'before_answer');
    lines.write('three\n', 'before_answer');
    expect(content()).toBe('one\ntwo\nthree\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is a problem that names the setting where it cannot be opened, and not the path', () => {
    expect(auditFileProblem(join(folder, 'absent', 'audit.log'))).toEqual([
      'AUDIT_FILE: cannot be opened for writing: its directory does not exist (ENOENT)',
    ]);
    expect(auditFileProblem(folder)).toEqual(['AUDIT_FILE: cannot be opened for writing: it is a directory (EISDIR)']);
    expect(auditFileProblem(path)).toEqual([]);
  });

  it('may be a pipe, whose reader has to be there', () => {
    execFileSync('mkfifo', [path]);
    expect(() => openAuditFile(path)).toThrow(
      'AUDIT_FILE: cannot be opened for writing: it is a pipe that nothing reads (ENXIO)',
    );
    // It would end the reader.
    expect(auditFileProblem(path)).toEqual([]);
  });
});

describe('required audit lines', () => {
  it('has written a line when it returns', () => {
    open('throw').write('one\n', 'before_answer');
    expect(content()).toBe('one\n');
  });

  it('throws while the disk is full, is not ready meanwhile, and then says how many lines are missing', async () => {
    const lines = open('throw', '/dev/full');
    for (const line of ['one\n', 'two\n']) {
      expect(() => lines.write(line, 'before_answer')).toThrow('audit log unavailable');
    }
    expect(lines.readiness()).toEqual({ ready: false, reason: 'audit lines cannot be written: ENOSPC' });
    expect(lines.linesLost).toBe(2);
    await lines.reopen(() => openAuditFile(path));
    expect(lines.readiness()).toEqual({ ready: true });
    lines.write('three\n', 'before_answer');
    expect(content()).toBe('\nlost 2\nthree\n');
    expect(changes).toEqual([
      { event: 'audit_unavailable', code: 'ENOSPC' },
      { event: 'audit_available', lines: 2 },
    ]);
  });

  it('is ready again when the fault is over, although nothing is to be written', async () => {
    const pipe = new UnreadPipe();
    const lines = open('throw', pipe.path);
    pipe.closeReader();
    expect(() => lines.write('one\n', 'before_answer')).toThrow('audit log unavailable');
    expect(lines.readiness().ready).toBe(false);
    pipe.openReader();
    await until(() => lines.readiness().ready, 'the lines can be written again');
    expect(pipe.read()).toBe('\nlost 1\n');
    pipe[Symbol.dispose]();
  });

  it('keeps lines that no answer waits for, up to a bound', async () => {
    const lines = open('throw', '/dev/full');
    const count = BUFFER_BYTES.throw / KEY_LINE.length;
    for (let number = 0; number < count + 3; number += 1) lines.write(KEY_LINE, 'soon');
    expect(lines.bufferedBytes).toBe(BUFFER_BYTES.throw);
    expect(lines.linesLost).toBe(3);
    await lines.reopen(() => openAuditFile(path));
    expect(content()).toBe(`\n${KEY_LINE.repeat(count)}lost 3\n`);
    expect(lines.bufferedBytes).toBe(0);
  });

  it('keeps the old file where the new one cannot be opened', async () => {
    const lines = open('throw');
    await expect(lines.reopen(() => openAuditFile(join(folder, 'absent', 'audit.log')))).rejects.toThrow('ENOENT');
    lines.write('one\n', 'before_answer');
    expect(content()).toBe('one\n');
  });
});

describe('audit lines that nobody waits for', () => {
  it('writes whole lines in order, and the rest when it is closed', async () => {
    const lines = open('drop');
    const all = Array.from({ length: 5_000 }, (_, number) => `${number} ${'x'.repeat(number % 300)}\n`);
    for (const line of all) lines.write(line);
    await lines.close();
    opened.splice(0);
    expect(content()).toBe(all.join(''));
  });

  it('does not wait for a reader that has stopped: keeps the size of its buffer, counts the rest, and then says how many', async () => {
    const pipe = new UnreadPipe();
    const lines = open('drop', pipe.path);
    const line = `${'x'.repeat(499)}\n`;
    const count = Math.ceil((2 * BUFFER_BYTES.drop) / line.length);
    for (let number = 0; number < count; number += 1) lines.write(line);
    expect(lines.bufferedBytes).toBeLessThanOrEqual(BUFFER_BYTES.drop);
    expect(lines.bufferedBytes).toBeGreaterThan(0.99 * BUFFER_BYTES.drop);
    expect(lines.linesLost).toBeGreaterThan(count / 3);
    expect(lines.readiness()).toEqual({ ready: true, note: 'audit lines are lost: the disk is too slow' });
    let text = '';
    await until(() => {
      text += pipe.read();
      return lines.bufferedBytes === 0;
    }, 'everything is read');
    text += pipe.read();
    const reported = [...text.matchAll(/^lost (\d+)$/gm)].map(([, lost]) => Number(lost));
    expect(reported).toEqual([lines.linesLost]);
    expect(text.split('\n').filter((written) => written.length === 499)).toHaveLength(count - lines.linesLost);
    expect(lines.readiness()).toEqual({ ready: true });
    pipe[Symbol.dispose]();
  });

  it('loses new lines while the disk is full, writes the older ones afterwards, and then says how many are missing', async () => {
    const lines = open('drop', '/dev/full');
    lines.write('one\n');
    await until(() => 'note' in lines.readiness(), 'the fault is known');
    expect(lines.readiness()).toEqual({ ready: true, note: 'audit lines are lost: ENOSPC' });
    lines.write('two\n');
    lines.write('three\n');
    expect(lines.linesLost).toBe(2);
    await lines.reopen(() => openAuditFile(path));
    await until(() => lines.bufferedBytes === 0, 'everything is written');
    lines.write('four\n');
    await until(() => content() === '\none\nlost 2\nfour\n', 'the lines are written');
    expect(changes).toEqual([
      { event: 'audit_unavailable', code: 'ENOSPC' },
      { event: 'audit_available', lines: 2 },
    ]);
  });

  it('says when it is closed how many lines are missing, if no write has said so yet', async () => {
    const pipe = new UnreadPipe();
    const lines = open('drop', pipe.path);
    pipe.closeReader();
    lines.write('one\n');
    await until(() => 'note' in lines.readiness(), 'the fault is known');
    lines.write('two\n');
    pipe.openReader();
    await lines.close();
    opened.splice(0);
    expect(pipe.read()).toBe('\none\nlost 1\n');
    pipe[Symbol.dispose]();
  });

  it('tries to write a line only once when it is closed', async () => {
    const lines = open('drop', '/dev/full');
    await lines.close();
    opened.splice(0);
    lines.write('one\n');
    // It would write again and again.
    await until(() => !process.getActiveResourcesInfo().includes('FSReqCallback'), 'nothing is written');
    expect(lines.bufferedBytes).toBe('one\n'.length);
  });

  it('goes on in a new file after it was renamed and opened again, and loses nothing', async () => {
    const lines = open('drop');
    let number = 0;
    const writeSome = () => {
      for (let count = 0; count < 500; count += 1) lines.write(`${number++}\n`);
    };
    writeSome();
    renameSync(path, join(folder, 'old.log'));
    writeSome();
    await lines.reopen(() => openAuditFile(path));
    writeSome();
    await lines.close();
    opened.splice(0);
    expect(content().length).toBeGreaterThan(0);
    const all = `${content(join(folder, 'old.log'))}${content()}`.trim().split('\n').map(Number);
    expect(all).toEqual(Array.from({ length: number }, (_, index) => index));
  });

  it('keeps the old file where the new one cannot be opened', async () => {
    const lines = open('drop');
    await expect(lines.reopen(() => openAuditFile(join(folder, 'absent', 'audit.log')))).rejects.toThrow('ENOENT');
    lines.write('one\n');
    await until(() => content() === 'one\n', 'the line is written');
  });
});
