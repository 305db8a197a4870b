import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { auditLinesIn, requestIdsOf } from '../support/audit-lines.ts';
import { requestToken, send } from '../support/http.ts';
import { followProgram, runProgram } from '../support/program.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
import { until } from '../support/until.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-file-'));
  path = join(folder, 'audit.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

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
