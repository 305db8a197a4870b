import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, send } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { socketsAt } from '../support/sockets-of.ts';
import { startProblems } from '../support/start-problems.ts';
import { until } from '../support/until.ts';

const DEMO = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: 'config/demo/clients.json',
  PORT: '0',
  MANAGEMENT_PORT: '0',
  SHUTDOWN_GRACE_MS: '0',
  BASE_URL: 'http://issuer.test',
};

const FREE_IT = 'stop it, or set PORT to another port';

describe('npm start', () => {
  it('does not start without a repository: prints the problem, exits with 1 and opens no port', async () => {
    await using program = runProgram('config/main.ts', {});
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(startProblems('CLIENT_REPOSITORY: must be set, to memory or sqlite or postgres'));
    expect(program.stdout()).toBe('');
  });

  it('names the place of a trailing comma, and the names that are almost those of settings', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'start-'));
    const file = join(folder, 'clients.json');
    await writeFile(file, '[\n  { "client_id": "its-secret" },\n]\n');
    await using program = runProgram('config/main.ts', {
      ...DEMO,
      CLIENTS_FILE: file,
      TRUSTED_PROXY: '10.0.0.1',
      PUBLIC_METADTA: '1',
    });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(
      startProblems(
        'TRUSTED_PROXY: is not a setting of this service: did you mean TRUSTED_PROXIES?',
        'PUBLIC_METADTA: is not a setting of this service: did you mean PUBLIC_METADATA?',
        'CLIENTS_FILE: is not JSON: line 2, column 32: a comma before the end of the array',
      ),
    );
    await rm(folder, { recursive: true });
  });

  it('does not start with a bad clients file, and does not print its secrets', async () => {
    await using program = runProgram('config/main.ts', { ...DEMO, CLIENTS_FILE: 'package.json', TOKEN_TYPO: '1' });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(
      startProblems('TOKEN_TYPO: is not a setting of this service', 'CLIENTS_FILE: must be a JSON array'),
    );
  });

  it('does not start if its port is in use, and prints the reason', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await using program = runProgram('config/main.ts', { ...DEMO, PORT: String(port) });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(startProblems(`PORT: another program uses port ${port} (EADDRINUSE): ${FREE_IT}`));
    other.close();
  });

  it('accepts from 32 sockets, on a port that it shares with no other service', async () => {
    const PORT = String(await freePort());
    const settings = { ...DEMO, PORT };
    await using program = runProgram('config/main.ts', settings);
    await program.printed(/"event":"started"/);
    await until(() => socketsAt(Number(PORT), 'listening') === 32, 'the system lists 32 sockets');
    await using other = runProgram('config/main.ts', settings);
    expect(await other.ended()).toBe(1);
    expect(other.stderr()).toBe(startProblems(`PORT: another program uses port ${PORT} (EADDRINUSE): ${FREE_IT}`));
  });

  it('answers requests where sockets cannot share a port', async () => {
    const port = await freePort();
    const nodeArgs = ['--import', './tests/support/without-reuse-port.ts'];
    await using program = runProgram('config/main.ts', { ...DEMO, PORT: String(port) }, [], nodeArgs);
    await program.printed(/"event":"started"/);
    expect(socketsAt(port, 'listening')).toBe(1);
    expect(await getAccessToken(`http://127.0.0.1:${port}`, 'demo-client-2', 'demo-secret-2')).toMatch(/^eyJ/);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('answers requests, and exits with 0 on %s', async (signal) => {
    await using program = runProgram('config/main.ts', DEMO);
    const [, port] = await program.printed(/"event":"started".*"port":(\d+)/);
    const url = `http://127.0.0.1:${port}`;
    const token = await getAccessToken(url, 'demo-client-2', 'demo-secret-2');
    const location = await send(url, '/v1/locations/PAR_FR', { headers: { authorization: `Bearer ${token}` } });
    expect(location.json()['city_name']).toBe('Paris');
    program.process.kill(signal);
    expect(await program.ended()).toBe(0);
    expect(program.stderr()).toBe('');
  });
});
