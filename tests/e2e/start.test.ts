import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { getAccessToken, send } from '../support/http.ts';
import { runProgram, runScript } from '../support/program.ts';
import { until } from '../support/until.ts';

const DEMO = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: 'config/demo/clients.json',
  PORT: '0',
  MANAGEMENT_PORT: '0',
  SHUTDOWN_GRACE_MS: '0',
  BASE_URL: 'http://issuer.test',
};

describe('npm start', () => {
  it('does not start without a repository: prints the problem, exits with 1 and opens no port', async () => {
    await using program = runProgram('config/main.ts', {});
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe('The service does not start:\n  CLIENT_REPOSITORY: must be memory or postgres\n');
    expect(program.stdout()).toBe('');
  });

  it('does not start with a bad clients file, and does not print its secrets', async () => {
    await using program = runProgram('config/main.ts', { ...DEMO, CLIENTS_FILE: 'package.json', TOKEN_TYPO: '1' });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(
      'The service does not start:\n  TOKEN_TYPO: is not a setting of this service\n  CLIENTS_FILE: must be a JSON array\n',
    );
  });

  it('does not start if its port is in use, and prints the reason', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await using program = runProgram('config/main.ts', { ...DEMO, PORT: String(port) });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toContain('EADDRINUSE');
    other.close();
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

  it.each(['1', '2'])('stops in order when npm itself gets SIGTERM, with WORKERS=%s', async (workers) => {
    await using npm = runScript('start', { ...DEMO, WORKERS: workers });
    await npm.printed(/"event":"started"/);
    npm.process.kill('SIGTERM');
    await until(() => npm.stdout().includes('"event":"stopped"'), 'the service stops');
    expect(await npm.ended()).toBe(0);
  });
});
