import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual as isEqual } from 'node:util';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { auditLine, jsonAuditLog } from '../../../adapters/log/json-audit-log.ts';
import { openLogLines } from '../../../adapters/log/json-log.ts';
import type { AuditEvent } from '../../../application/ports/audit-log.ts';
import { openAudit } from '../../../config/open-audit.ts';
import { describeAuditLog } from '../../contracts/audit-log.ts';
import { auditLinesIn, eventOf, readAuditFile } from '../../support/audit-lines.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { InMemoryAuditLog } from '../../support/in-memory-audit-log.ts';
import { until } from '../../support/until.ts';

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
  const output = openAudit({ AUDIT_FILE, AUDIT_REQUIRED }, { log, clock, onChange: () => {} });
  opened.push(output);
  return {
    auditLog: jsonAuditLog(output.lines),
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
