import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { chmod, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { inspectService } from '../../config/programs/doctor.ts';
import { startFromEnvironment } from '../../config/service.ts';
import { auditLinesIn, readAuditFile, requestIdsOf } from '../support/audit-lines.ts';
import { problemsOfAuditLine } from '../support/audit-schema.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken, send } from '../support/http.ts';
import { KeySetServer } from '../support/key-set-server.ts';
import { listenOnLoopback } from '../support/loopback-server.ts';
import { problemsIn } from '../support/problems.ts';
import { followProgram, runProgram } from '../support/program.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { GOOD_CLIENT, GOOD_SECRET, startServiceUnderTest } from '../support/running-service.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { startServiceProcess, TRACED } from '../support/service-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
import { until } from '../support/until.ts';

interface Found {
  readonly check: string;
  readonly state: string;
  readonly text: string;
  readonly fix?: string;
}

const MEMORY = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'config/demo/clients.json' };

const GOOD_TOKEN_REQUEST = {
  grant_type: 'client_credentials',
  client_id: GOOD_CLIENT.client_id,
  client_secret: GOOD_SECRET,
};

/** `npm run doctor`, in this process. */
function doctor(environment: Readonly<Record<string, string>>, args: readonly string[] = []) {
  return runInProcess(inspectService, args, environment);
}

/** The findings of `--json`, by their checks. */
async function examine(environment: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const { exitCode, stdout } = await doctor(environment, ['--json', ...args]);
  const findings: readonly Found[] = JSON.parse(stdout);
  const of = (check: string) => findings.filter((finding) => finding.check === check);
  return { exitCode, findings, of, problems: findings.filter(({ state }) => state === 'problem') };
}

describe('npm run doctor', () => {
  let folder: string;
  let ports: { readonly HOST: string; readonly PORT: string; readonly MANAGEMENT_PORT: string };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'doctor-'));
    // In a container, its absence would be worth a note.
    ports = { HOST: '127.0.0.1', PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()) };
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('finds no problem before the first start, and prints a line for each check', async () => {
    await using program = runProgram('config/doctor.ts', { ...MEMORY, ...ports });
    expect([await program.ended(), program.stderr()]).toEqual([0, '']);
    const stdout = program.stdout();
    expect(stdout).toMatch(/^ok +settings +registrations in memory/m);
    expect(stdout).toMatch(/^ok +signing key +the service can use it$/m);
    expect(stdout).toMatch(/^ok +running service +no service answers on MANAGEMENT_PORT \d+: it does not run here$/m);
    expect(stdout).toMatch(/\n\nno problems, no notes\.\n$/);
  });

  it('reports every problem of the settings, and exits with 1', async () => {
    const { exitCode, problems } = await examine({
      CLIENT_REPOSITORY: 'memory',
      CLIENTS_FILE: '/no-such/file',
      TRUSTED_PROXY: '10.0.0.1',
    });
    expect(exitCode).toBe(1);
    expect(problems.map(({ check, text }) => [check, text])).toEqual([
      ['settings', 'TRUSTED_PROXY: is not a setting of this service'],
      ['settings', 'CLIENTS_FILE: cannot be read: there is no file /no-such/file (ENOENT)'],
    ]);
  });

  it('names a certificate for another host, and a key that others can read', async () => {
    using authority = new CertificateAuthority();
    const { certificate, key } = authority.issueExpired('DNS:other.test');
    await chmod(key, 0o644);
    const tls = { TLS_CERT_FILE: certificate, TLS_KEY_FILE: key, BASE_URL: 'https://auth.test' };
    const { exitCode, of } = await examine({ ...MEMORY, ...ports, ...tls });
    expect(exitCode).toBe(0);
    expect([...of('tls certificate'), ...of('tls key')].map(({ state, text }) => `${state} ${text}`)).toEqual([
      'note TLS_CERT_FILE is for DNS:other.test, not for auth.test',
      `note other users can read ${key}, and with it pose as this service`,
    ]);
  });

  it('looks at a service that runs', async () => {
    const environment = { ...MEMORY, ...ports };
    await using _service = await startServiceUnderTest({ environment });
    const { exitCode, of } = await examine(environment);
    expect(exitCode).toBe(0);
    expect(of('running service')).toEqual([{ check: 'running service', state: 'ok', text: 'it is ready' }]);
  });

  it.each([
    ['starting', 'service', 'note', /^service: starting$/, /^what it says$/],
    ['stopping', 'service', 'note', /^service: stopping$/, /^what it says$/],
    ['table clients does not exist', 'client repository', 'problem', /client repository: table/, /^what it says$/],
    ['no file descriptor is left', 'log', 'problem', /log: no file/, /^what it says$/],
  ])(
    'says once, and with one fix, what a service that runs says of itself: %s',
    async (reason, name, state, text, fix) => {
      const checks = [
        { name: 'key directory', ready: true },
        { name, ready: false, reason, fix: 'what it says' },
      ];
      const listener = createHttpServer((_request, response) => {
        response.writeHead(503).end(JSON.stringify({ status: 'not_ready', checks }));
      });
      await using server = await listenOnLoopback(listener);
      const { of } = await examine({ ...MEMORY, ...ports, MANAGEMENT_PORT: new URL(server.url).port });
      expect(of('running service')).toEqual([
        { check: 'running service', state, text: expect.stringMatching(text), fix: expect.stringMatching(fix) },
      ]);
    },
  );

  it('looks at the key file, the audit file and the key sets of trusted issuers', async () => {
    await using keySet = await KeySetServer.start({ kind: 'text', text: '{"keys":[]}', status: 200 });
    const key = join(folder, 'key.pem');
    const issuers = join(folder, 'issuers.json');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o640 });
    await writeFile(issuers, JSON.stringify([{ issuer: 'https://issuer.test', jwks_uri: keySet.url }]), {
      mode: 0o600,
    });
    const { of } = await examine({
      ...MEMORY,
      ...ports,
      KEY_FILE: key,
      KEY_ROTATION_SECONDS: '0',
      AUDIT_FILE: join(folder, 'none', 'audit.log'),
      CLIENT_AUTHENTICATION_METHODS: 'federated_jwt',
      CLIENT_ASSERTION_ISSUERS_FILE: issuers,
    });
    expect(of('key file')).toMatchObject([{ state: 'note', text: expect.stringContaining('other users can read') }]);
    expect(of('audit file')).toMatchObject([{ state: 'problem', text: expect.stringContaining('(ENOENT)') }]);
    expect(of('issuer key sets')).toMatchObject([
      { state: 'note', text: expect.stringContaining('https://issuer.test cannot be fetched (the key set') },
    ]);
    expect(existsSync(join(folder, 'none'))).toBe(false);
  });

  describe('with a database', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    }, 120_000);
    afterAll(() => database.drop());

    it('reads it with the role of the service, changes nothing, and shows no password', async () => {
      const role = await database.createRole();
      await database.query(`alter role ${role.name} password 'canary-9b1e'`);
      await database.query(`grant create on schema public to ${role.name}`);
      const url = new URL(role.url);
      url.password = 'canary-9b1e';
      const environment = {
        CLIENT_REPOSITORY: 'postgres',
        ...SEALED_KEYS,
        DATABASE_URL: url.href,
        ...ports,
      };
      const report = await doctor(environment);
      expect(report).toMatchObject({ exitCode: 0, stderr: '' });
      expect(report.stdout).toMatch(/table clients does not exist yet\n +-> start the service, which creates it/);
      expect(await database.query(`select tablename from pg_tables where schemaname = 'public'`)).toEqual([]);

      url.password = 'canary-0000';
      const refused = await doctor({ ...environment, DATABASE_URL: url.href });
      expect(refused.exitCode).toBe(1);
      expect(refused.stdout).toContain('its password is wrong (28P01)');
      expect(report.stdout + refused.stdout + refused.stderr).not.toContain('canary');
      await database.query(`revoke create on schema public from ${role.name}`);
    });
  });

  it.each([
    [['--version'], 0],
    [['--help'], 0],
    [['now'], 2],
  ])('answers %j with exit code %d', async (args, exitCode) => {
    expect((await doctor({}, args)).exitCode).toBe(exitCode);
  });
});

describe('a service that is loaded behind an SDK of OpenTelemetry', () => {
  const trace_id = 'abcdef0123456789abcdef0123456789';
  const traceparent = `00-${trace_id}-00000000000000ff-01`;

  it('describes the span of each request, and names it in the line of that request and in no other', async () => {
    const traced = await startServiceProcess({}, TRACED);
    await using program = traced.program;
    const answer = await requestToken(traced.url, DEMO_TOKEN_REQUEST, { traceparent });
    const lost = await send(traced.url, '/a-path-secret?b=query-secret');
    program.process.kill('SIGTERM');
    expect(await program.ended()).toBe(0);
    const lines = program.stdout().trimEnd().split('\n');
    const [line, ...others] = lines.filter((text) => text.includes('trace_id')).map((text) => JSON.parse(text));
    const request_id = answer.headers['x-request-id'];
    expect(line).toMatchObject({ request_id, trace_id, span_id: expect.any(String), client_id: 'demo-client' });
    expect(others).toMatchObject([{ request_id: lost.headers['x-request-id'], reason: 'token_missing' }]);
    const spans = [...program.stderr().matchAll(/^span (.*)$/gm)].map(([, text = '']) => JSON.parse(text));
    expect(spans).toMatchObject([
      {
        name: 'POST /oauth2/token',
        spanId: line.span_id,
        attributes: { 'auth.request_id': request_id, 'auth.client_id': 'demo-client', 'auth.token_id': line.token_id },
      },
      { name: 'HTTP', attributes: { 'auth.reason': 'token_missing' } },
    ]);
    expect(program.stderr()).not.toContain('-secret');
  });

  it('has no trace without it, whatever the caller sends', async () => {
    await using service = await startServiceUnderTest();
    expect((await requestToken(service.url, GOOD_TOKEN_REQUEST, { traceparent })).status).toBe(200);
    await until(() => service.logText().includes('"route":"/oauth2/token"'), 'the request is logged');
    expect(service.logText()).not.toContain('trace_id');
  });
});

describe('the audit log of a service', () => {
  /** A service in this process, for tests that send it no signal. */
  async function startInProcess(environment: Readonly<Record<string, string>>) {
    const MANAGEMENT_PORT = String(await freePort());
    const service = await startServiceUnderTest({ environment: { ...environment, MANAGEMENT_PORT } });
    return { ...service, managementUrl: `http://127.0.0.1:${MANAGEMENT_PORT}` };
  }
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'audit-file-'));
    path = join(folder, 'audit.log');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  describe('the service with AUDIT_FILE', () => {
    /** Loses nothing while it issues tokens and its file is renamed three times. */
    async function expectNothingLost(
      url: string,
      request: Readonly<Record<string, string>>,
      reopen: () => Promise<unknown>,
      stop: () => Promise<unknown>,
    ): Promise<void> {
      const [issued, refused] = [new Set<unknown>(), new Set<unknown>()];
      const files = [path];
      let isOver = false;
      const load = Array.from({ length: 2 }, async () => {
        while (!isOver) issued.add((await requestToken(url, request)).headers['x-request-id']);
      });
      for (let turn = 1; turn <= 3; turn += 1) {
        const before = issued.size;
        refused.add((await requestToken(url, { ...request, client_secret: 'wrong' })).headers['x-request-id']);
        await until(() => issued.size > before + 10, 'tokens are issued');
        renameSync(path, `${path}.${turn}`);
        files.push(`${path}.${turn}`);
        await reopen();
      }
      isOver = true;
      await Promise.all(load);
      await stop();
      const lines = files.flatMap(readAuditFile);
      expect(requestIdsOf(lines, 'token_issued')).toEqual(issued);
      expect(requestIdsOf(lines, 'token_refused')).toEqual(refused);
      const count = issued.size + refused.size;
      expect(lines.filter(({ event }) => event.startsWith('token_'))).toHaveLength(count);
      expect(lines.map(({ event }) => event)).toEqual(expect.arrayContaining(['key_published', 'key_signing']));
      expect(lines.flatMap(problemsOfAuditLine)).toEqual([]);
      for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
      for (const file of files.slice(1)) expect(readAuditFile(file).length).toBeGreaterThan(0);
    }

    it('writes each event to the file and none to the log, and loses nothing when the file is renamed before SIGHUP', async () => {
      const service = await startServiceProcess({ AUDIT_FILE: path, AUDIT_REQUIRED: 'true' });
      await using program = service.program;
      const reopened = () => program.stdout().match(/"event":"audit_file_reopened"/g)?.length ?? 0;
      const reopen = async () => {
        const before = reopened();
        program.process.kill('SIGHUP');
        await until(() => reopened() > before, 'the file is opened again');
      };
      await expectNothingLost(service.url, DEMO_TOKEN_REQUEST, reopen, async () => {
        program.process.kill('SIGTERM');
        expect(await program.ended()).toBe(0);
      });
      expect(auditLinesIn(program.stdout())).toEqual([]);
    });

    it('loses nothing either where AUDIT_REQUIRED is false', async () => {
      const service = await startInProcess({ AUDIT_FILE: path });
      await expectNothingLost(service.url, GOOD_TOKEN_REQUEST, service.hangUp, service.stop);
      expect(auditLinesIn(service.logText())).toEqual([]);
    });

    it('keeps the old file, and says so, where the new one cannot be opened', async () => {
      await using service = await startInProcess({ AUDIT_FILE: path, AUDIT_REQUIRED: 'true' });
      renameSync(path, `${path}.1`);
      // Its target does not exist, and cannot be created.
      symlinkSync(join(folder, 'absent', 'audit.log'), path);
      await service.hangUp();
      const failed =
        /"event":"audit_file_not_reopened".*AUDIT_FILE: cannot be opened for writing: its directory does not exist \(ENOENT\)/;
      await until(() => failed.test(service.logText()), 'the failure is logged');
      expect(service.logText()).not.toContain('"event":"audit_file_reopened"');
      const { headers } = await requestToken(service.url, GOOD_TOKEN_REQUEST);
      expect(requestIdsOf(readAuditFile(`${path}.1`), 'token_issued')).toEqual(new Set([headers['x-request-id']]));
    });

    it('makes a file that was deleted again, loses no line, and issues no token while it cannot', async () => {
      const inside = join(folder, 'inside');
      mkdirSync(inside);
      const file = join(inside, 'audit.log');
      await using service = await startInProcess({ AUDIT_FILE: file, AUDIT_REQUIRED: 'true' });
      const status = async () => (await requestToken(service.url, GOOD_TOKEN_REQUEST)).status;
      expect(await status()).toBe(200);
      rmSync(file);
      const { headers } = await requestToken(service.url, GOOD_TOKEN_REQUEST);
      expect(requestIdsOf(readAuditFile(file), 'token_issued')).toEqual(new Set([headers['x-request-id']]));
      expect(service.logText()).toContain('"event":"audit_file_deleted"');

      rmSync(inside, { recursive: true });
      await until(async () => (await status()) === 503, 'no token is issued without its line');
      mkdirSync(inside);
      await until(async () => (await status()) === 200, 'tokens are issued again');
      expect(readAuditFile(file).some(({ event }) => event === 'token_issued')).toBe(true);
    });

    it.each([
      ['a reader that has ended', 'EPIPE'],
      ['a reader that does not read', 'ETIMEDOUT'],
    ])(
      'issues no token without its line if AUDIT_REQUIRED is true, and goes on without a restart, with %s',
      async (_what, code) => {
        using pipe = new UnreadPipe();
        const settings = { AUDIT_FILE: pipe.path, AUDIT_REQUIRED: 'true', PUBLIC_METADATA: 'true' };
        await using service = await startInProcess(settings);
        const first = await requestToken(service.url, GOOD_TOKEN_REQUEST);
        let text = pipe.read();
        expect(requestIdsOf(auditLinesIn(text), 'token_issued')).toEqual(new Set([first.headers['x-request-id']]));

        if (code === 'EPIPE') pipe.closeReader();
        else pipe.fill();
        let isAnswered = false;
        const waiting = requestToken(service.url, GOOD_TOKEN_REQUEST).finally(() => {
          isAnswered = true;
        });
        // Who needs no line does not wait.
        while (!isAnswered) expect((await send(service.url, '/oauth2/jwks')).status).toBe(200);
        for (const answer of [
          await waiting,
          await requestToken(service.url, { ...GOOD_TOKEN_REQUEST, client_secret: 'wrong' }),
          await requestToken(service.url, GOOD_TOKEN_REQUEST),
        ]) {
          expect([answer.status, answer.json()]).toEqual([503, { error: 'temporarily_unavailable' }]);
          expect(answer.headers['retry-after']).toBe('1');
        }
        const notReady = await send(service.managementUrl, '/readyz');
        expect(notReady.status).toBe(503);
        expect(notReady.text).toContain(`audit lines cannot be written: ${code}`);
        expect(service.logLines()).toContainEqual(expect.objectContaining({ event: 'audit_unavailable', code }));

        if (code === 'EPIPE') pipe.openReader();
        await until(async () => {
          text += pipe.read();
          return (await send(service.managementUrl, '/readyz')).status === 200;
        }, 'it is ready again');
        const last = await requestToken(service.url, GOOD_TOKEN_REQUEST);
        expect(last.status).toBe(200);
        text += pipe.read();
        const lines = auditLinesIn(text);
        expect(requestIdsOf(lines, 'token_issued')).toContain(last.headers['x-request-id']);
        const { text: metrics } = await send(service.managementUrl, '/metrics');
        expect(total(readSamples(metrics), 'auth_audit_lines_lost_total')).toBe(2);
        expect(lines.filter(({ event }) => event === 'audit_lines_lost').map((line) => line['lines'])).toEqual([2]);
      },
    );

    it('issues tokens with a full disk if AUDIT_REQUIRED is false, and keeps their lines', async () => {
      await using service = await startInProcess({ AUDIT_FILE: '/dev/full' });
      for (let count = 0; count < 20; count += 1) {
        expect((await requestToken(service.url, GOOD_TOKEN_REQUEST)).status).toBe(200);
      }
      const { status, text } = await send(service.managementUrl, '/readyz');
      expect(status).toBe(200);
      expect(text).toContain('audit lines cannot be written: ENOSPC');
      const { text: metrics } = await send(service.managementUrl, '/metrics');
      expect(total(readSamples(metrics), 'auth_audit_lines_lost_total')).toBe(0);
      expect(total(readSamples(metrics), 'auth_audit_buffered_bytes')).toBeGreaterThan(20 * 300);
    });
  });

  it('a start with an audit file that cannot be opened fails, and names the setting', async () => {
    const settings = { ...MEMORY, PORT: '0', BASE_URL: 'http://localhost' };
    const started = await startFromEnvironment({ ...settings, AUDIT_FILE: join(folder, 'absent', 'audit.log') });
    expect(problemsIn(started)).toEqual([
      expect.stringMatching(/^AUDIT_FILE: .*audit\.log cannot be written \(ENOENT\): mkdir -p /),
    ]);
  });

  it('a program may read the audit log through a named pipe', async () => {
    execFileSync('mkfifo', [path]);
    await using reader = followProgram(spawn('cat', [path]));
    // Waits until the reader has opened the pipe, and keeps it from ending before the service writes.
    const writer = await open(path, 'w');
    const service = await startInProcess({ AUDIT_FILE: path, AUDIT_REQUIRED: 'true' });
    await writer.close();
    const { headers } = await requestToken(service.url, GOOD_TOKEN_REQUEST);
    await reader.printed(new RegExp(`"event":"token_issued".*"request_id":"${headers['x-request-id']}"`));
    await service.stop();
    expect(await reader.ended()).toBe(0);
  });

  it.each(['false', 'true'])(
    'a named pipe keeps what nobody has read for the next reader, and loses it when service and reader have ended, with AUDIT_REQUIRED=%s',
    async (AUDIT_REQUIRED) => {
      using pipe = new UnreadPipe();
      const service = await startInProcess({ AUDIT_FILE: pipe.path, AUDIT_REQUIRED });
      // From now on, the service is the only one that writes.
      closeSync(pipe.writer);
      const issue = async () => (await requestToken(service.url, GOOD_TOKEN_REQUEST)).headers['x-request-id'];
      const isWritten = async () => {
        const samples = readSamples((await send(service.managementUrl, '/metrics')).text);
        return total(samples, 'auth_audit_buffered_bytes') === 0;
      };
      const ids = new Set([await issue(), await issue()]);
      await until(isWritten, 'the pipe has the lines');
      pipe.closeReader();
      pipe.openReader();
      expect(requestIdsOf(auditLinesIn(pipe.read()), 'token_issued')).toEqual(ids);

      expect((await requestToken(service.url, GOOD_TOKEN_REQUEST)).status).toBe(200);
      await until(isWritten, 'the pipe has the line');
      pipe.closeReader();
      await service.stop();
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
});
