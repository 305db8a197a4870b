import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { auditLinesIn, readAuditFile } from '../support/audit-lines.ts';
import { describeAuditFile } from '../support/describe-audit-file.ts';
import { requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const CONNECTIONS = 4;
const CALLERS = 16;
const KILLS = 5;

describeAuditFile();

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-fault-'));
  path = join(folder, 'audit.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Lets a process write no file beyond that many bytes: a write that reaches the limit is cut, as on a full disk. */
function limitFiles(pid: number, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stdout.write('The test of a full disk did not run: prlimit is not installed.\n');
    return false;
  }
}

describe('the service, whose disk becomes full in the middle of a line', () => {
  it.each(['true', 'false'])(
    'has a line for each token that it answers, and goes on, with AUDIT_REQUIRED=%s',
    async (AUDIT_REQUIRED) => {
      if (!hasPrlimit()) return;
      const service = await startServiceProcess({ AUDIT_FILE: path, AUDIT_REQUIRED });
      await using program = service.program;
      const pid = program.process.pid ?? 0;
      const answered = new Map<unknown, number>();
      let isOver = false;
      const load = Array.from({ length: CONNECTIONS }, async () => {
        while (!isOver) {
          const { status, headers } = await requestToken(service.url, DEMO_TOKEN_REQUEST);
          answered.set(headers['x-request-id'], status);
        }
      });
      const count = (status: number) => [...answered.values()].filter((answer) => answer === status).length;
      await until(() => count(200) > 20, 'tokens are answered');

      // Not at the end of a line.
      limitFiles(pid, statSync(path).size + 10_001);
      const isRequired = AUDIT_REQUIRED === 'true';
      const lost = async () =>
        total(readSamples((await send(service.managementUrl, '/metrics')).text), 'auth_audit_lines_lost_total');
      if (isRequired) await until(() => count(503) > 20, 'requests get 503');
      else await until(async () => (await lost()) > 20, 'lines are lost');
      await until(
        async () => (await send(service.managementUrl, '/readyz')).status === (isRequired ? 503 : 200),
        'the state is reported',
      );

      limitFiles(pid, 'unlimited');
      await until(async () => {
        const { status, text } = await send(service.managementUrl, '/readyz');
        return status === 200 && !text.includes('audit lines');
      }, 'lines are written again');
      const before = count(200);
      await until(() => count(200) > before + 20, 'tokens are answered again');
      isOver = true;
      await Promise.all(load);
      const lostInTheEnd = await lost();
      program.process.kill('SIGTERM');
      expect(await program.ended()).toBe(0);

      expect([...answered.values()].every((status) => status === 200 || (isRequired && status === 503))).toBe(true);
      const lines = readAuditFile(path);
      const recorded = new Set(lines.filter(({ event }) => event === 'token_issued').map((line) => line['request_id']));
      const missing = [...answered].filter(([id, status]) => status === 200 && !recorded.has(id));
      if (isRequired) expect(missing).toEqual([]);
      else expect(missing.length).toBe(lostInTheEnd);
      // Every line is whole, except for the one that the fault may have cut, and the empty ones behind it.
      const text = readFileSync(path, 'utf8');
      expect(
        text.split('\n').filter((line) => line !== '' && auditLinesIn(line).length === 0).length,
      ).toBeLessThanOrEqual(1);
      const reported = lines.filter(({ event }) => event === 'audit_lines_lost').map((line) => Number(line['lines']));
      expect(reported.reduce((sum, number) => sum + number, 0)).toBe(lostInTheEnd);
    },
  );
});

describe('the service, which is killed again and again under load', () => {
  it('answers no token without its line, with AUDIT_REQUIRED=true', async () => {
    const issued = new Set<unknown>();
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const service = await startServiceProcess({ AUDIT_FILE: path, AUDIT_REQUIRED: 'true' });
      await using program = service.program;
      const before = issued.size;
      const load = Array.from({ length: CALLERS }, async () => {
        while (program.process.signalCode === null) {
          const answer = await requestToken(service.url, DEMO_TOKEN_REQUEST).catch(() => undefined);
          if (answer?.status === 200) issued.add(answer.headers['x-request-id']);
        }
      });
      await until(() => issued.size > before + 100, 'tokens are issued');
      program.process.kill('SIGKILL');
      await Promise.all(load);
    }

    const lines = readAuditFile(path);
    const recorded = new Set(lines.filter(({ event }) => event === 'token_issued').map((line) => line['request_id']));
    expect([...issued].filter((id) => !recorded.has(id))).toEqual([]);
  });
});
