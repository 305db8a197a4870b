import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  auditFileProblem,
  openAuditFile,
  openAuditFileAgain,
  programChangeLog,
} from '../../../adapters/log/audit-file.ts';
import { endsWithinLine, LineTarget } from '../../../adapters/log/line-target.ts';

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
    expect(auditFileProblem(missing)).toEqual([MISSING]);
    await expect(openAuditFileAgain(missing)).rejects.toThrow(MISSING);
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

describe('the changes that a program records', () => {
  const event = { event: 'change_unconfirmed', at: 1_800_000_000, change_id: 'an-id' } as const;

  it.each(['', 'a whole line\n', 'the beginning of a li'])('stand on lines of their own, behind %j', async (before) => {
    writeFileSync(path, before);
    const endsWithLine = !(await endsWithinLine(path));
    const open = () => new LineTarget(openAuditFile(path), true, endsWithLine);
    const log = programChangeLog({ open, base: { os_user: 'alice' }, isRequired: true, onLost: () => {} });
    log.record(event);
    log.record(event);
    const lines = readFileSync(path, 'utf8').split('\n');
    const line = expect.stringMatching(/^\{"log":"audit",.*"os_user":"alice","event":"change_unconfirmed",.*\}$/);
    expect(lines).toEqual([...(before === '' ? [] : [before.trim()]), line, line, '']);
  });
});
