import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { auditLinesIn, readAuditFile, requestIdsOf } from '../support/audit-lines.ts';
import { problemsOfAuditLine } from '../support/audit-schema.ts';
import { requestToken, send } from '../support/http.ts';
import { followProgram, runProgram } from '../support/program.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
import { until } from '../support/until.ts';

const WRONG_SECRET = { ...DEMO_TOKEN_REQUEST, client_secret: 'wrong' };

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-file-'));
  path = join(folder, 'audit.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the service with AUDIT_FILE', () => {
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
        const reopened = () => program.stdout().match(/"event":"audit_file_reopened"/g)?.length ?? 0;
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
    expect(program.stdout()).not.toContain('"event":"audit_file_reopened"');
    const { headers } = await requestToken(service.url, DEMO_TOKEN_REQUEST);
    expect(requestIdsOf(readAuditFile(`${path}.1`), 'token_issued')).toEqual(new Set([headers['x-request-id']]));
  });

  it.each([
    ['a reader that has ended', 'EPIPE'],
    ['a reader that does not read', 'ETIMEDOUT'],
  ])(
    'issues no token without its line if AUDIT_REQUIRED is true, and goes on without a restart, with %s',
    async (_what, code) => {
      using pipe = new UnreadPipe();
      const settings = { AUDIT_FILE: pipe.path, AUDIT_REQUIRED: 'true', PUBLIC_METADATA: 'true' };
      const service = await startServiceProcess(settings);
      await using program = service.program;
      const first = await requestToken(service.url, DEMO_TOKEN_REQUEST);
      let text = pipe.read();
      expect(requestIdsOf(auditLinesIn(text), 'token_issued')).toEqual(new Set([first.headers['x-request-id']]));

      if (code === 'EPIPE') pipe.closeReader();
      else pipe.fill();
      let isAnswered = false;
      const waiting = requestToken(service.url, DEMO_TOKEN_REQUEST).finally(() => {
        isAnswered = true;
      });
      // Who needs no line does not wait.
      while (!isAnswered) expect((await send(service.url, '/oauth2/jwks')).status).toBe(200);
      for (const answer of [await waiting, await requestToken(service.url, WRONG_SECRET)]) {
        expect([answer.status, answer.json()]).toEqual([503, { error: 'temporarily_unavailable' }]);
        expect(answer.headers['retry-after']).toBe('1');
      }
      const notReady = await send(service.managementUrl, '/readyz');
      expect(notReady.status).toBe(503);
      expect(notReady.text).toContain(`audit lines cannot be written: ${code}`);
      await program.printed(new RegExp(`"event":"audit_unavailable","code":"${code}"`));

      if (code === 'EPIPE') pipe.openReader();
      await until(async () => {
        text += pipe.read();
        return (await send(service.managementUrl, '/readyz')).status === 200;
      }, 'it is ready again');
      const last = await requestToken(service.url, DEMO_TOKEN_REQUEST);
      expect(last.status).toBe(200);
      text += pipe.read();
      const lines = auditLinesIn(text);
      expect(requestIdsOf(lines, 'token_issued')).toContain(last.headers['x-request-id']);
      const { text: metrics } = await send(service.managementUrl, '/metrics');
      expect(total(readSamples(metrics), 'auth_audit_lines_lost_total')).toBe(1);
      expect(lines.filter(({ event }) => event === 'audit_lines_lost').map((line) => line['lines'])).toEqual([1]);
    },
  );

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

it('a start with an audit file that cannot be opened fails, and names the setting', async () => {
  const settings = {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'config/demo/clients.json',
    PORT: '0',
    BASE_URL: 'http://localhost',
  };
  await using program = runProgram('config/main.ts', { ...settings, AUDIT_FILE: join(folder, 'absent', 'audit.log') });
  expect(await program.ended()).toBe(1);
  expect(program.stderr()).toContain(
    '  AUDIT_FILE: cannot be opened for writing: its directory does not exist (ENOENT)\n',
  );
});

it('a program may read the audit log through a named pipe', async () => {
  execFileSync('mkfifo', [path]);
  await using reader = followProgram(spawn('cat', [path]));
  const service = await startServiceProcess({ AUDIT_FILE: path, AUDIT_REQUIRED: 'true' });
  await using program = service.program;
  const { headers } = await requestToken(service.url, DEMO_TOKEN_REQUEST);
  await reader.printed(new RegExp(`"event":"token_issued".*"request_id":"${headers['x-request-id']}"`));
  program.process.kill('SIGTERM');
  expect(await program.ended()).toBe(0);
  expect(await reader.ended()).toBe(0);
});

it.each(['false', 'true'])(
  'a named pipe keeps what nobody has read for the next reader, and loses it when service and reader have ended, with AUDIT_REQUIRED=%s',
  async (AUDIT_REQUIRED) => {
    using pipe = new UnreadPipe();
    const service = await startServiceProcess({ AUDIT_FILE: pipe.path, AUDIT_REQUIRED });
    await using program = service.program;
    // From now on, the service is the only one that writes.
    closeSync(pipe.writer);
    const issue = async () => (await requestToken(service.url, DEMO_TOKEN_REQUEST)).headers['x-request-id'];
    const isWritten = async () => {
      const samples = readSamples((await send(service.managementUrl, '/metrics')).text);
      return total(samples, 'auth_audit_buffered_bytes') === 0;
    };
    const ids = new Set([await issue(), await issue()]);
    await until(isWritten, 'the pipe has the lines');
    pipe.closeReader();
    pipe.openReader();
    expect(requestIdsOf(auditLinesIn(pipe.read()), 'token_issued')).toEqual(ids);

    expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    await until(isWritten, 'the pipe has the line');
    pipe.closeReader();
    program.process.kill('SIGTERM');
    expect(await program.ended()).toBe(0);
    pipe.openReader();
    expect(pipe.read()).toBe('');
  },
);

it('with AUDIT_REQUIRED and no file, the lines are on standard output before the tokens are answered', async () => {
  const service = await startServiceProcess({ AUDIT_REQUIRED: 'true' });
  await using program = service.program;
  const { headers } = await requestToken(service.url, DEMO_TOKEN_REQUEST);
  await program.printed(new RegExp(`"event":"token_issued".*"request_id":"${headers['x-request-id']}"`));
  for (const line of program.stdout().trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
});
