import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readTextFile, readTextFileNow } from '../../../adapters/system/read-text-file.ts';

describe('readTextFile', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'read-text-file-'));
    await writeFile(join(folder, 'file'), 'text');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('reads a file', () => {
    expect(readTextFile(join(folder, 'file'))).toEqual({ ok: true, value: 'text' });
  });

  it('names the whole path and the code of the system', () => {
    const problems = [
      join(folder, 'none'),
      join(folder, 'file/none'),
      folder,
      'no-such.json',
      '~/no-such',
      'tests',
    ].map((path) => readTextFile(path));
    const cwd = process.cwd();
    expect(problems.map((problem) => !problem.ok && problem.problem)).toEqual([
      `cannot be read: there is no file ${folder}/none (ENOENT)`,
      `cannot be read: there is no file ${folder}/file/none (ENOTDIR)`,
      `cannot be read: ${folder} is a directory (EISDIR)`,
      `cannot be read: there is no file ${cwd}/no-such.json (ENOENT)`,
      `cannot be read: there is no file ${cwd}/~/no-such; only a shell replaces ~ (ENOENT)`,
      `cannot be read: ${cwd}/tests is a directory (EISDIR)`,
    ]);
  });

  it.each([
    'postgresql://service:its-secret@db.test/auth',
    '-----BEGIN PRIVATE KEY-----\nits-secret',
    '[{"client_secret": "its-secret"}]',
    'its-secret',
    'eyJhbGciOiJub25lIn0.its-secret.c2lnbmF0dXJl',
    `/its-secret${'x'.repeat(1_000)}`,
    '/its-secret/abcdefghijklmnopqrstuvwxyz0123456789+A=',
  ])('does not show what is given in place of a path: %j', (content) => {
    const read = readTextFile(content);
    expect(read).toMatchObject({ ok: false, problem: expect.stringContaining('it must be the path of a file') });
    expect(JSON.stringify(read)).not.toContain('its-secret');
  });
});

describe('readTextFileNow', () => {
  it('reads a file, and does not wait for the writer of a named pipe', () => {
    const folder = mkdtempSync(join(tmpdir(), 'read-now-'));
    const [file, pipe] = [join(folder, 'file'), join(folder, 'pipe')];
    writeFileSync(file, 'a text');
    execFileSync('mkfifo', [pipe]);
    expect(readTextFileNow(file)).toEqual({ ok: true, value: 'a text' });
    expect(readTextFileNow(pipe)).toEqual({ ok: true, value: '' });
    const writer = openSync(pipe, constants.O_RDWR);
    expect(readTextFileNow(pipe)).toEqual({ ok: false, problem: expect.stringContaining('(EAGAIN)') });
    closeSync(writer);
    rmSync(folder, { recursive: true });
  });
});
