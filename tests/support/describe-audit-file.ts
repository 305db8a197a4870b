import { mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { auditLinesIn, readAuditFile, requestIdsOf } from './audit-lines.ts';
import { problemsOfAuditLine } from './audit-schema.ts';
import { requestToken, send } from './http.ts';
import { readSamples, total } from './read-samples.ts';
import { DEMO_TOKEN_REQUEST } from './replica.ts';
import { startServiceProcess } from './service-process.ts';
import { UnreadPipe } from './unread-pipe.ts';
import { until } from './until.ts';

const WRONG_SECRET = { ...DEMO_TOKEN_REQUEST, client_secret: 'wrong' };

/** The tests of a service with an audit file. */
export function describeAuditFile(): void {
  describe('the service with AUDIT_FILE', () => {
    let folder: string;
    let path: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'audit-file-'));
      path = join(folder, 'audit.log');
    });
    afterEach(() => rmSync(folder, { recursive: true }));

    it.each(['false', 'true'])(
      'writes each event to the file and none to the log, and loses nothing when the file is renamed before SIGHUP, with AUDIT_REQUIRED=%s',
      async (AUDIT_REQUIRED) => {
        const service = await startServiceProcess({ AUDIT_FILE: path, AUDIT_REQUIRED });
        await using program = service.program;
        const [issued, refused] = [new Set<unknown>(), new Set<unknown>()];
        const files = [path];
        let isOver = false;
        const load = Array.from({ length: 2 }, async () => {
          while (!isOver) issued.add((await requestToken(service.url, DEMO_TOKEN_REQUEST)).headers['x-request-id']);
        });
        for (let turn = 1; turn <= 3; turn += 1) {
          const before = issued.size;
          refused.add((await requestToken(service.url, WRONG_SECRET)).headers['x-request-id']);
          await until(() => issued.size > before + 10, 'tokens are issued');
          renameSync(path, `${path}.${turn}`);
          files.push(`${path}.${turn}`);
          program.process.kill('SIGHUP');
          const reopened = () => program.stdout().match(/"event":"audit_file_reopened"/g)?.length;
          await until(() => reopened() === turn, 'the file is opened again');
        }
        isOver = true;
        await Promise.all(load);
        program.process.kill('SIGTERM');
        expect(await program.ended()).toBe(0);
        const lines = files.flatMap(readAuditFile);
        expect(requestIdsOf(lines, 'token_issued')).toEqual(issued);
        expect(requestIdsOf(lines, 'token_refused')).toEqual(refused);
        const count = issued.size + refused.size;
        expect(lines.filter(({ event }) => event.startsWith('token_'))).toHaveLength(count);
        expect(lines.map(({ event }) => event)).toEqual(expect.arrayContaining(['key_published', 'key_signing']));
        expect(lines.flatMap(problemsOfAuditLine)).toEqual([]);
        for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
        for (const file of files.slice(1)) expect(readAuditFile(file).length).toBeGreaterThan(0);
        expect(auditLinesIn(program.stdout())).toEqual([]);
      },
    );

    it('keeps the old file, and says so, where the new one cannot be opened', async () => {
      const service = await startServiceProcess({ AUDIT_FILE: path, AUDIT_REQUIRED: 'true' });
      await using program = service.program;
      renameSync(path, `${path}.1`);
      // Its target does not exist, and cannot be created.
      symlinkSync(join(folder, 'absent', 'audit.log'), path);
      program.process.kill('SIGHUP');
      await program.printed(
        /"event":"audit_file_not_reopened".*AUDIT_FILE: cannot be opened for writing: its directory does not exist \(ENOENT\)/,
      );
      const { headers } = await requestToken(service.url, DEMO_TOKEN_REQUEST);
      expect(requestIdsOf(readAuditFile(`${path}.1`), 'token_issued')).toEqual(new Set([headers['x-request-id']]));
    });

    it('issues no token without its line if AUDIT_REQUIRED is true, and goes on without a restart', async () => {
      const pipe = new UnreadPipe();
      const service = await startServiceProcess({ AUDIT_FILE: pipe.path, AUDIT_REQUIRED: 'true' });
      await using program = service.program;
      expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
      let text = pipe.read();
      expect(auditLinesIn(text).filter(({ event }) => event === 'token_issued')).toHaveLength(1);
      pipe.closeReader();
      for (const request of [DEMO_TOKEN_REQUEST, WRONG_SECRET]) {
        const answer = await requestToken(service.url, request);
        expect([answer.status, answer.json()]).toEqual([503, { error: 'temporarily_unavailable' }]);
        expect(answer.headers['retry-after']).toBe('1');
      }
      await until(async () => (await send(service.managementUrl, '/readyz')).status === 503, 'it is not ready');
      expect((await send(service.managementUrl, '/readyz')).text).toContain('audit lines cannot be written: EPIPE');
      await program.printed(/"event":"audit_unavailable","code":"EPIPE"/);

      pipe.openReader();
      await until(async () => (await send(service.managementUrl, '/readyz')).status === 200, 'it is ready again');
      await until(() => {
        text += pipe.read();
        return text.includes('"event":"audit_lines_lost"');
      }, 'the loss is recorded');
      expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
      text += pipe.read();
      expect(auditLinesIn(text).filter(({ event }) => event === 'token_issued')).toHaveLength(2);
      const lost = total(
        readSamples((await send(service.managementUrl, '/metrics')).text),
        'auth_audit_lines_lost_total',
      );
      await until(() => {
        text += pipe.read();
        const reported = auditLinesIn(text).filter(({ event }) => event === 'audit_lines_lost');
        return reported.reduce((sum, { lines }) => sum + Number(lines), 0) === lost;
      }, 'all losses are recorded');
      pipe[Symbol.dispose]();
    });

    it('issues tokens with a full disk if AUDIT_REQUIRED is false, and counts the lost lines', async () => {
      const service = await startServiceProcess({ AUDIT_FILE: '/dev/full' });
      await using program = service.program;
      for (let count = 0; count < 20; count += 1) {
        expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
      }
      await until(async () => {
        const { text } = await send(service.managementUrl, '/metrics');
        return total(readSamples(text), 'auth_audit_lines_lost_total') > 0;
      }, 'lines are lost');
      const { status, text } = await send(service.managementUrl, '/readyz');
      expect(status).toBe(200);
      expect(text).toContain('audit lines are lost: ENOSPC');
      program.process.kill('SIGTERM');
      expect(await program.ended()).toBe(0);
    });
  });
}
