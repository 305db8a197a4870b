import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { CertificateAuthority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { listenOnLoopback } from '../support/loopback-server.ts';
import { runProgram } from '../support/program.ts';

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
    const server = createServer((request, response) => {
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
    const common = {
      CLIENT_REPOSITORY: 'memory',
      CLIENTS_FILE: 'config/demo/clients.json',
      MANAGEMENT_PORT: '0',
    };
    const withTls = { BASE_URL: 'https://auth.test', TLS_CERT_FILE: certificate, TLS_KEY_FILE: key };
    const on = { HEALTH_ON_PUBLIC_PORT: 'true' };
    for (const [settings, code] of [
      [on, 0],
      [{ ...on, ...withTls }, 0],
      [{}, 1],
    ] as const) {
      const environment = { ...common, ...settings, PORT: String(await freePort()) };
      await using service = runProgram('config/main.ts', environment);
      await service.printed(/"event":"started"/);
      await using program = runProgram('config/health-check.ts', environment);
      expect([await program.ended(), program.stderr()]).toEqual([
        code,
        code === 0 ? '' : expect.stringContaining('HEALTH_ON_PUBLIC_PORT=true'),
      ]);
    }
  });
});
