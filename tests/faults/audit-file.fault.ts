import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { auditLinesIn, readAuditFile, requestIdsOf } from '../support/audit-lines.ts';
import { requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { limitFiles } from './limit-files.ts';

const CONNECTIONS = 4;
const CALLERS = 16;
const KILLS = 5;

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-fault-'));
  path = join(folder, 'audit.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the service whose disk becomes full in the middle of a line', () => {
  it.each(['true', 'false'])(
    'has a line for each token that it answers, and goes on, with AUDIT_REQUIRED=%s',
    async (AUDIT_REQUIRED) => {
      const service = await startServiceProcess({ AUDIT_FILE: path, AUDIT_REQUIRED });
      await using program = service.program;
      const answered = new Map<unknown, number>();
      let isOver = false;
      const load = Array.from({ length: CONNECTIONS }, async () => {
        while (!isOver) {
          const { status, headers } = await requestToken(service.url, DEMO_TOKEN_REQUEST);
          answered.set(headers['x-request-id'], status);
        }
      });
      const count = (status: number) => [...answered.values()].filter((response) => response === status).length;
      await until(() => count(200) > 20, 'tokens are answered');

      // Not at the end of a line.
      limitFiles(program, statSync(path).size + 10_001);
      const isRequired = AUDIT_REQUIRED === 'true';
      const lost = async () =>
        total(readSamples((await send(service.managementUrl, '/metrics')).text), 'auth_audit_lines_lost_total');
      if (isRequired) await until(() => count(503) > 20, 'requests get 503');
      else await until(async () => (await lost()) > 20, 'lines are lost');
      await until(
        async () => (await send(service.managementUrl, '/readyz')).status === (isRequired ? 503 : 200),
        'the state is reported',
      );

      limitFiles(program, 'unlimited');
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
      const recorded = requestIdsOf(lines, 'token_issued');
      const missing = [...answered].filter(([id, status]) => status === 200 && !recorded.has(id));
      if (isRequired) expect(missing).toEqual([]);
      else expect(missing.length).toBe(lostInTheEnd);
      // Every line is whole, except for the one that the fault has cut.
      const text = readFileSync(path, 'utf8');
      const cut = text.split('\n').filter((line) => line !== '' && auditLinesIn(line).length === 0);
      expect(cut.length).toBeLessThanOrEqual(1);
      const reported = lines.filter(({ event }) => event === 'audit_lines_lost').map((line) => Number(line['lines']));
      expect(reported.reduce((sum, number) => sum + number, 0)).toBe(lostInTheEnd);
    },
  );
});

describe('the service that is killed again and again under load', () => {
  it('has answered no token without its whole line, with AUDIT_REQUIRED=true', async () => {
    const issued = new Set<unknown>();
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const service = await startServiceProcess({ AUDIT_FILE: path, AUDIT_REQUIRED: 'true' });
      await using program = service.program;
      const before = issued.size;
      let isOver = false;
      const load = Array.from({ length: CALLERS }, async () => {
        while (!isOver) {
          const response = await requestToken(service.url, DEMO_TOKEN_REQUEST).catch(() => undefined);
          if (response?.status === 200) issued.add(response.headers['x-request-id']);
        }
      });
      await until(() => issued.size > before + 10 * kill, 'tokens are issued');
      program.process.kill('SIGKILL');
      await program.ended();
      isOver = true;
      await Promise.all(load);
    }
    const recorded = requestIdsOf(readAuditFile(path), 'token_issued');
    expect([...issued].filter((id) => !recorded.has(id))).toEqual([]);
    // A line that was cut stands alone.
    const cut = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && auditLinesIn(line).length !== 1);
    expect(cut.length).toBeLessThanOrEqual(KILLS);
    for (const line of cut) expect(line.lastIndexOf('{"log"')).toBe(0);
  });
});
