import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { inspectService } from '../../config/programs/doctor.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, requestToken, send } from '../support/http.ts';
import { listenOnLoopback } from '../support/loopback-server.ts';
import { followProgram, type Program, runProgram, runProgramOn } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startServiceUnderTest } from '../support/running-service.ts';
import { startServiceOn } from '../support/service-without-log.ts';
import { socketsAt } from '../support/sockets-of.ts';
import { startProblems } from '../support/start-problems.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
import { until } from '../support/until.ts';

const DEMO = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: 'config/demo/clients.json',
  PORT: '0',
  MANAGEMENT_PORT: '0',
  SHUTDOWN_GRACE_MS: '0',
  BASE_URL: 'http://issuer.test',
  // An RSA key takes a fifth of the start.
  TOKEN_SIGNING_ALG: 'ES256',
};

const FREE_IT = 'stop it, or set PORT to another port';

describe('npm start', () => {
  it('does not start without a repository: prints the problem, exits with 1 and opens no port', async () => {
    await using program = runProgram('config/main.ts', {});
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(startProblems('CLIENT_REPOSITORY: must be set, to memory or sqlite or postgres'));
    expect(program.stdout()).toBe('');
  });

  it('answers requests on 32 sockets of a port that it shares with no other service, and exits with 0 on SIGTERM', async () => {
    const PORT = String(await freePort());
    const settings = { ...DEMO, PORT };
    await using program = runProgram('config/main.ts', settings);
    const [, version] = await program.printed(/"event":"started".*"version":"([^"]+)"/);
    expect(version).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version);
    await until(() => socketsAt(Number(PORT), 'listening') === 32, 'the system lists 32 sockets');
    await using other = runProgram('config/main.ts', settings);
    expect(await other.ended()).toBe(1);
    expect(other.stderr()).toBe(startProblems(`PORT: another program uses port ${PORT} (EADDRINUSE): ${FREE_IT}`));

    const url = `http://127.0.0.1:${PORT}`;
    const token = await getAccessToken(url, 'demo-client-2', 'demo-secret-2');
    const location = await send(url, '/v1/locations/PAR_FR', { headers: { authorization: `Bearer ${token}` } });
    expect(location.json()['city_name']).toBe('Paris');
    program.process.kill('SIGTERM');
    expect(await program.ended()).toBe(0);
    expect(program.stderr()).toBe('');
  });

  it('answers requests where sockets cannot share a port, and exits with 0 on SIGINT', async () => {
    const port = await freePort();
    const nodeArgs = ['--import', './tests/support/without-reuse-port.ts'];
    await using program = runProgram('config/main.ts', { ...DEMO, PORT: String(port) }, [], nodeArgs);
    await program.printed(/"event":"started"/);
    expect(socketsAt(port, 'listening')).toBe(1);
    expect(await getAccessToken(`http://127.0.0.1:${port}`, 'demo-client-2', 'demo-secret-2')).toMatch(/^eyJ/);
    program.process.kill('SIGINT');
    expect(await program.ended()).toBe(0);
  });
});

describe('the limit of open files', () => {
  /** The files that a service with this many database connections needs before it accepts any: see docs/operate.md. */
  const RESERVED = 128 + 100 + 10;

  /** Runs the service with a limit of open files. */
  function runWithLimit(limit: number, port: number): Program {
    const environment = {
      PATH: process.env['PATH'],
      CLIENT_REPOSITORY: 'memory',
      CLIENTS_FILE: 'config/demo/clients.json',
      PORT: String(port),
      MANAGEMENT_PORT: '0',
      SHUTDOWN_GRACE_MS: '0',
      SHUTDOWN_DRAIN_MS: '0',
      TOKEN_SIGNING_ALG: 'ES256',
    };
    const command = `ulimit -n ${limit}; exec "${process.execPath}" config/main.ts`;
    return followProgram(spawn('sh', ['-c', command], { env: environment }));
  }

  it('stops a start that it leaves no room for, and is named', async () => {
    await using program = runWithLimit(64, await freePort());
    expect(await program.ended()).toBe(1);
    const fix = 'raise the limit to 10238: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of docker';
    expect(program.stderr()).toBe(
      startProblems(`the limit of open files (ulimit -n) is 64: must be at least ${RESERVED + 64}: ${fix}`),
    );
  });

  it('bounds the connections, so that the service never runs out of files', async () => {
    const port = await freePort();
    await using program = runWithLimit(RESERVED + 80, port);
    await program.printed(/"event":"started"/);
    const sockets: Socket[] = [];
    let closed = 0;
    for (let count = 0; count < 200; count += 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.on('close', () => {
        closed += 1;
      });
      sockets.push(socket);
    }
    await until(() => closed === 120, 'the connections beyond 80 are closed');
    const call = () =>
      requestToken(`http://127.0.0.1:${port}`, DEMO_TOKEN_REQUEST).then(
        ({ status }) => status,
        () => 'closed',
      );
    await until(async () => (await call()) === 200, 'an idle connection gives way to a request');
    for (const socket of sockets) socket.destroy();
    expect(program.stdout()).not.toContain('EMFILE');
  });
});

describe('the image', () => {
  it('listens on all addresses with both ports, so that probes and Prometheus reach the management port', () => {
    expect(readFileSync('Dockerfile', 'utf8')).toMatch(/^ENV (.* )?HOST=0\.0\.0\.0 MANAGEMENT_HOST=0\.0\.0\.0$/m);
  });
});

describe('the health check of the image', () => {
  it.each([
    [200, 0],
    [503, 1],
  ])('asks the loopback address if the port listens on all addresses: on %d it exits with %d', async (status, code) => {
    const hosts: (string | undefined)[] = [];
    const server = createHttpServer((request, response) => {
      hosts.push(request.headers.host);
      response.writeHead(status).end('answer');
    });
    await using service = await listenOnLoopback(server);
    const { host, port } = new URL(service.url);
    await using program = runProgram(
      'config/health-check.ts',
      {
        CLIENT_REPOSITORY: 'memory',
        CLIENTS_FILE: 'config/demo/clients.json',
        MANAGEMENT_HOST: '0.0.0.0',
        MANAGEMENT_PORT: port,
      },
      ['/livez'],
    );
    expect(await program.ended()).toBe(code);
    expect(program.stdout()).toBe('answer');
    expect(hosts).toEqual([host]);
  });

  it('asks the public port, with TLS or without, if the management port is switched off', async () => {
    using authority = new CertificateAuthority();
    const { certificate, key } = authority.issue('DNS:auth.test');
    const withTls = { BASE_URL: 'https://auth.test', TLS_CERT_FILE: certificate, TLS_KEY_FILE: key };
    const files = { [certificate]: readFileSync(certificate, 'utf8'), [key]: readFileSync(key, 'utf8') };
    const on = { HEALTH_ON_PUBLIC_PORT: 'true' };
    for (const [environment, code] of [
      [on, 0],
      [{ ...on, ...withTls }, 0],
      [{}, 1],
    ] as const) {
      await using service = await startServiceUnderTest({ environment, files });
      const settings = { ...environment, MANAGEMENT_PORT: '0', PORT: String(service.port) };
      await using program = runProgram('config/health-check.ts', settings);
      expect([await program.ended(), program.stderr()]).toEqual([
        code,
        code === 0 ? '' : expect.stringContaining('HEALTH_ON_PUBLIC_PORT=true'),
      ]);
    }
  });
});

describe('a service whose standard output cannot be written', () => {
  it('issues tokens, reports the fault, and ends on SIGTERM', async () => {
    const full = openSync('/dev/full', 'w');
    await using service = await startServiceOn(full);
    for (let count = 0; count < 20; count += 1) {
      expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    }
    await service.untilNote('log lines cannot be written: ENOSPC');
    expect(await service.terminate()).toBe(0);
    closeSync(full);
  });
});

describe('a process that ends before its log is written', () => {
  /** A second batch waits while the first one is written. */
  const code = (end: string) => `
    import { openLogLines } from './adapters/log/json-log.ts';
    const lines = openLogLines();
    for (let number = 0; number < 1_000; number += 1) lines.write(number + '\\n');
    setImmediate(() => {
      for (let number = 1_000; number < 2_000; number += 1) lines.write(number + '\\n');
      ${end}
    });`;
  const all = Array.from({ length: 2_000 }, (_, number) => number);

  it.each(['process.exit(3);', "throw new Error('unforeseen');"])('writes everything at its end: %s', async (end) => {
    await using program = runProgram('--input-type=module', {}, ['--eval', code(end)]);
    expect(await program.ended()).toBeGreaterThan(0);
    expect(
      program
        .stdout()
        .trim()
        .split('\n')
        .map(Number)
        .toSorted((one, other) => one - other),
    ).toEqual(all);
  });

  it('does not wait for a reader that does not read, or for a full disk', async () => {
    using pipe = new UnreadPipe();
    pipe.fill();
    const full = openSync('/dev/full', 'w');
    for (const stdout of [pipe.writer, full]) {
      await using program = runProgramOn(stdout, '--input-type=module', {}, 'inherit', [
        '--eval',
        code('process.exit(3);'),
      ]);
      await until(() => program.exitCode !== null, 'the process has ended');
      expect(program.exitCode).toBe(3);
    }
    closeSync(full);
  });
});

describe('a program that nobody can read', () => {
  it('the doctor exits with 1, since its report is lost', async () => {
    const full = openSync('/dev/full', 'w');
    const clients = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'config/demo/clients.json' };
    const settings = { ...clients, BASE_URL: 'http://127.0.0.1:1', PORT: '0', MANAGEMENT_PORT: '0' };
    expect(await runInProcess(inspectService, [], settings)).toMatchObject({ exitCode: 0 });
    await using doctor = runProgramOn(full, 'config/doctor.ts', settings, full);
    await until(() => doctor.exitCode !== null, 'the program has ended');
    expect(doctor.exitCode).toBe(1);
    closeSync(full);
  });

  it('npm start exits with 1 where it cannot start', async () => {
    const full = openSync('/dev/full', 'w');
    await using toFull = runProgramOn(full, 'config/main.ts', { PORT: 'none' }, full);
    await until(() => toFull.exitCode !== null, 'the program has ended');
    expect(toFull.exitCode).toBe(1);
    closeSync(full);
  });

  it('npm run demo exits with 1 where it cannot start', async () => {
    await using toClosed = runProgram('config/demo.ts', { PORT: 'none' });
    toClosed.process.stdout?.destroy();
    toClosed.process.stderr?.destroy();
    await until(() => toClosed.process.exitCode !== null, 'the program has ended');
    expect(toClosed.process.exitCode).toBe(1);
  });

  it('npm run demo runs without its banner, and stops when its terminal is closed (SIGHUP)', async () => {
    const port = String(await freePort());
    const full = openSync('/dev/full', 'w');
    await using demo = runProgramOn(full, 'config/demo.ts', { PORT: port, SHUTDOWN_GRACE_MS: '60000' }, full);
    const url = `http://127.0.0.1:${port}`;
    await until(async () => {
      const answer = await requestToken(url, DEMO_TOKEN_REQUEST).catch(() => undefined);
      if (demo.exitCode !== null) throw new Error('the demo has ended');
      return answer?.status === 200;
    }, 'the demo issues a token');
    demo.kill('SIGHUP');
    await until(() => demo.exitCode !== null || demo.signalCode !== null, 'the demo has ended');
    expect(demo.exitCode).toBe(0);
    closeSync(full);
  });
});
