import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { request as requestByTls } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, describe, expect, it } from '@jest/globals';
import { CertificateAuthority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { where } from '../support/installed.ts';
import { followProgram } from '../support/program.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { HAS_HAPROXY } from './haproxy.ts';

/** A service behind HAProxy, which connects from 127.0.0.1 and is called by clients at 127.0.0.2. */
async function behindHaproxy(server: string, settings: Readonly<Record<string, string>>, mode = 'tcp') {
  const folder = mkdtempSync(join(tmpdir(), 'behind-haproxy-'));
  const service = await startServiceProcess({ TRUSTED_PROXIES: '127.0.0.1', ...settings });
  const [port, file] = [await freePort(), join(folder, 'haproxy.cfg')];
  writeFileSync(
    file,
    `defaults
  mode ${mode}
  timeout connect 2s
  timeout client 30s
  timeout server 30s
listen token
  bind 127.0.0.1:${port}
  server s 127.0.0.1:${new URL(service.url).port} source 127.0.0.1 ${server}
`,
  );
  const haproxy = followProgram(spawn('haproxy', ['-db', '-f', file]));
  return {
    service,
    haproxy,
    url: `http://127.0.0.1:${port}`,
    port,
    addresses: () =>
      [...service.program.stdout().matchAll(/"method":"GET".*"remote_address":"([^"]+)"/g)].map(
        ([, address]) => address,
      ),
    async [Symbol.asyncDispose]() {
      await haproxy[Symbol.asyncDispose]();
      await service.program[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

/** GET / from another address of this machine: 401, since it has no token. */
async function statusFrom(localAddress: string, port: number, ca?: string): Promise<number> {
  const options = { host: '127.0.0.1', port, localAddress, path: '/', agent: false };
  return new Promise((resolve, reject) => {
    const sent = ca === undefined ? request(options) : requestByTls({ ...options, rejectUnauthorized: false });
    sent
      .on('response', (response) => resolve(response.resume().statusCode ?? 0))
      .on('error', reject)
      .end();
  });
}

where(HAS_HAPROXY, describe)('behind HAProxy', () => {
  const authority = new CertificateAuthority();
  afterAll(() => authority[Symbol.dispose]());
  const { certificate, key } = authority.issue('DNS:auth.test');
  const TLS = { TLS_CERT_FILE: certificate, TLS_KEY_FILE: key, BASE_URL: 'https://auth.test' };
  const verified = `ssl verify required ca-file ${authority.file} sni str(auth.test) verifyhost auth.test`;

  it('TLS to the service takes the address of X-Forwarded-For', async () => {
    await using balancer = await behindHaproxy(`${verified}\n  option forwardfor`, TLS, 'http');
    await until(
      () =>
        statusFrom('127.0.0.2', balancer.port).then(
          (status) => status === 401,
          () => false,
        ),
      'HAProxy answers',
    );
    await until(() => balancer.addresses().includes('127.0.0.2'), 'it is logged');
  });

  it('SIGHUP makes the service serve the new certificate', async () => {
    const service = await startServiceProcess({ ...TLS, ...copyOf(certificate, key) });
    await using _program = service.program;
    const names = async () => {
      const port = Number(new URL(service.url).port);
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { subjectaltname } = socket.getPeerCertificate();
      socket.destroy();
      return subjectaltname;
    };
    expect(await names()).toBe('DNS:auth.test');
    copyOf(...pairOf(authority.issue('DNS:auth.test, DNS:new.test')));
    service.program.process.kill('SIGHUP');
    await until(async () => (await names()) === 'DNS:auth.test, DNS:new.test', 'the new one is served');
    // Once for the startup and once for the new one.
    const loaded = () => service.program.stdout().match(/"event":"tls_certificate_loaded"/g)?.length;
    await until(() => loaded() === 2, 'the log has a line for both');
    expect(service.program.stdout()).not.toContain('sighup_ignored');
  });
});

const COPIES = mkdtempSync(join(tmpdir(), 'tls-copies-'));
afterAll(() => rmSync(COPIES, { recursive: true }));

function copyOf(certificate: string, key: string) {
  const files = { TLS_CERT_FILE: join(COPIES, 'cert.pem'), TLS_KEY_FILE: join(COPIES, 'key.pem') };
  copyFileSync(certificate, files.TLS_CERT_FILE);
  copyFileSync(key, files.TLS_KEY_FILE);
  return files;
}

function pairOf({ certificate, key }: ReturnType<CertificateAuthority['issue']>): [string, string] {
  return [certificate, key];
}
