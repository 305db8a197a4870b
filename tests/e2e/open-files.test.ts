import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { followProgram, type Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startProblems } from '../support/start-problems.ts';
import { until } from '../support/until.ts';

/** The files that a service with this many database connections needs before it accepts any: see docs/operations.md. */
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
  };
  const command = `ulimit -n ${limit}; exec "${process.execPath}" config/main.ts`;
  return followProgram(spawn('sh', ['-c', command], { env: environment }));
}

describe('the limit of open files', () => {
  it('stops a start that it leaves no room for, and is named', async () => {
    await using program = runWithLimit(64, await freePort());
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(
      startProblems(`the limit of open files (ulimit -n) is 64: must be at least ${RESERVED + 64}`),
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
    expect(await call()).toBe('closed');
    for (const socket of sockets) socket.destroy();
    await until(async () => (await call()) === 200, 'there is room again');
    expect(program.stdout()).not.toContain('EMFILE');
  });
});
