import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, send } from '../support/http.ts';
import { type Program, runProgram } from '../support/program.ts';
import { startProblemsOfLocations } from '../support/start-problems.ts';
import { until } from '../support/until.ts';

const ISSUER = 'http://issuer.test';

function runService(port: number): Program {
  return runProgram('config/main.ts', {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'config/demo/clients.json',
    PORT: String(port),
    MANAGEMENT_PORT: '0',
    SHUTDOWN_GRACE_MS: '0',
    BASE_URL: ISSUER,
    PUBLIC_METADATA: 'true',
  });
}

function runLocations(issuerPort: number): Program {
  return runProgram('config/locations.ts', {
    PORT: '0',
    JWKS_URI: `http://127.0.0.1:${issuerPort}/oauth2/jwks`,
    JWKS_COOLDOWN_SECONDS: '1',
    TOKEN_ISSUER: ISSUER,
  });
}

const started = async (program: Program) => {
  const [, port] = await program.printed(/"event":"started".*"port":(\d+)/);
  return `http://127.0.0.1:${port}`;
};

const statusOf = async (url: string, token: string) =>
  (await send(url, '/v1/locations/PAR_FR', { headers: { authorization: `Bearer ${token}` } })).status;

describe('npm run locations', () => {
  it('is the program that these tests run', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(scripts.locations).toBe('exec node config/locations.ts');
  });

  it('names the setting if its port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const settings = { JWKS_URI: 'http://127.0.0.1:1/keys', TOKEN_ISSUER: 'x', PORT: String(port) };
    await using program = runProgram('config/locations.ts', settings);
    expect(await program.ended()).toBe(1);
    other.close();
    expect(program.stderr()).toContain(`  PORT: another program uses port ${port} (EADDRINUSE)`);
  });

  it('does not start without an issuer and its key set: prints both problems, exits with 1 and opens no port', async () => {
    await using program = runProgram('config/locations.ts', {});
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toBe(startProblemsOfLocations('JWKS_URI: must be set', 'TOKEN_ISSUER: must be set'));
    expect(program.stdout()).toBe('');
  });

  it('accepts the tokens of a service in another process, also after that service is killed', async () => {
    const port = await freePort();
    await using service = runService(port);
    const issuerUrl = await started(service);
    await using locations = runLocations(port);
    const url = await started(locations);
    const token = await getAccessToken(issuerUrl, 'demo-client', 'demo-secret');
    expect(await statusOf(url, token)).toBe(200);

    service.process.kill('SIGKILL');
    await service.ended();
    expect(await statusOf(url, token)).toBe(200);
    expect(await statusOf(url, 'no-token')).toBe(401);

    locations.process.kill('SIGTERM');
    expect(await locations.ended()).toBe(0);
    expect(locations.stderr()).toBe('');
  });

  it('starts before its issuer: answers 503 until the issuer is up, and then 200', async () => {
    const port = await freePort();
    await using locations = runLocations(port);
    const url = await started(locations);
    // Well-formed, so that the key set is needed.
    const [header, payload] = ['{"kid":"k","alg":"RS256"}', '{}'].map((json) =>
      Buffer.from(json).toString('base64url'),
    );
    expect(await statusOf(url, `${header}.${payload}.AAAA`)).toBe(503);

    await using service = runService(port);
    const token = await getAccessToken(await started(service), 'demo-client', 'demo-secret');
    await until(async () => (await statusOf(url, token)) === 200, 'the keys are fetched');
    expect(await statusOf(url, `${header}.${payload}.AAAA`)).toBe(401);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 on %s while its issuer is unavailable', async (signal) => {
    await using locations = runLocations(await freePort());
    await started(locations);
    locations.process.kill(signal);
    expect(await locations.ended()).toBe(0);
  });
});
