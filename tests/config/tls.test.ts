import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, createServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HTTP_TIMEOUTS } from '../../adapters/http/server/http-server.ts';
import { inspectCertificate, readServerCertificate } from '../../adapters/tls/server-certificate.ts';
import { TlsTermination } from '../../adapters/tls/tls-termination.ts';
import { PARTS } from '../../config/container.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { success } from '../../domain/result.ts';
import { FORM, get, post } from '../hostile/hostile-request.ts';
import { readResponses } from '../hostile/raw-exchange.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { createHttpServer } from '../support/http-server.ts';
import { problemsIn } from '../support/problems.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { until } from '../support/until.ts';

const authority = new CertificateAuthority();
const folder = mkdtempSync(join(tmpdir(), 'tls-'));
const FILES = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
const BASE_URL = 'https://auth.test';
afterAll(() => {
  authority[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

type Issued = ReturnType<CertificateAuthority['issue']>;
const textsOf = ({ certificate, key }: Issued) =>
  [readFileSync(certificate, 'utf8'), readFileSync(key, 'utf8')] as const;
function install({ certificate, key }: Issued): void {
  copyFileSync(certificate, FILES.TLS_CERT_FILE);
  copyFileSync(key, FILES.TLS_KEY_FILE);
}

async function start(more: Readonly<Record<string, string>> = {}): Promise<ServiceUnderTest> {
  const files = {
    [FILES.TLS_CERT_FILE]: readFileSync(FILES.TLS_CERT_FILE, 'utf8'),
    [FILES.TLS_KEY_FILE]: readFileSync(FILES.TLS_KEY_FILE, 'utf8'),
  };
  return startServiceUnderTest({ environment: { ...FILES, BASE_URL, ...more }, files });
}

/** Sends bytes by TLS and resolves with the statuses and the certificate's name when the connection has ended. */
async function exchange(port: number, bytes: string, options: ConnectionOptions = {}) {
  const socket: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    servername: 'auth.test',
    ca: readFileSync(authority.file),
    ...options,
  });
  let received = '';
  socket.setEncoding('latin1').on('data', (text) => {
    received += text;
  });
  await once(socket, 'secureConnect');
  const { subjectaltname } = socket.getPeerCertificate();
  const [protocol, alpn] = [socket.getProtocol(), socket.alpnProtocol];
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return { statuses: readResponses(received).map(({ status }) => status), subjectaltname, protocol, alpn };
}

const events = (service: ServiceUnderTest, event: string) =>
  service.logLines().filter((line) => line['event'] === event);

describe('the public port with TLS', () => {
  let service: ServiceUnderTest;
  beforeAll(async () => {
    install(authority.issue('DNS:auth.test'));
    service = await start();
  });
  afterAll(async () => service.stop());

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('answers with %s', async (version) => {
    const response = await exchange(service.port, post(FORM), {
      minVersion: version,
      maxVersion: version,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    expect(response).toMatchObject({ statuses: [200], protocol: version, alpn: 'http/1.1' });
    expect(service.logLines().findLast(({ request_id }) => request_id)).toMatchObject({ remote_address: '127.0.0.1' });
  });

  it('refuses older versions, and clients that speak HTTP/2 alone', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await expect(exchange(service.port, post(FORM), old)).rejects.toThrow(/protocol|alert/i);
    await expect(exchange(service.port, post(FORM), { ALPNProtocols: ['h2'] })).rejects.toThrow(/alert/);
  });

  it('answers many connections that resume a session, and of pipelined requests the first', async () => {
    const two = `${post(FORM).replace('Connection: close\r\n', '')}${get('/')}`;
    expect((await exchange(service.port, two)).statuses).toEqual([200]);
    const many = await Promise.all(Array.from({ length: 50 }, () => exchange(service.port, post(FORM))));
    expect(many.every(({ statuses }) => statuses.join() === '200')).toBe(true);
  });

  it.each([
    ['plain HTTP', post(FORM)],
    ['garbage', '\x16\x03\x01\xff\xff'.repeat(100)],
    ['a client hello that is cut', '\x16\x03\x01\x02\x00\x01\x00'],
  ])('closes a connection with %s, and goes on', async (_name, bytes) => {
    const socket = connectPlain({ port: service.port, host: '127.0.0.1' }).on('error', () => {});
    socket.end(Buffer.from(bytes, 'latin1'));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    await once(socket, 'close');
    expect(received).not.toContain('HTTP');
    expect((await exchange(service.port, post(FORM))).statuses).toEqual([200]);
  });

  it('counts failed handshakes, and tells when the certificate expires', async () => {
    const { snapshot } = { snapshot: await service.container.resolve(PARTS.processMetrics).exposition() };
    expect(Number(/auth_tls_handshakes_failed_total (\d+)/.exec(snapshot.text)?.[1])).toBeGreaterThan(3);
    const expires = Number(/^auth_tls_certificate_expires_at_seconds (\S+)$/m.exec(snapshot.text)?.[1]);
    expect(Math.abs(expires - Date.now() / 1_000 - 2 * 86_400)).toBeLessThan(3_600);
  });

  it('uses a new certificate after SIGHUP, also for connections that resume a session', async () => {
    expect((await exchange(service.port, post(FORM))).subjectaltname).toBe('DNS:auth.test');
    install(authority.issue('DNS:auth.test, DNS:new.test'));
    await service.hangUp();
    expect((await exchange(service.port, post(FORM))).subjectaltname).toBe('DNS:auth.test, DNS:new.test');
    expect(events(service, 'tls_certificate_loaded')).toHaveLength(2);
  });

  it.each([
    [
      'a key that does not fit',
      () => copyFileSync(authority.issue('DNS:auth.test').key, FILES.TLS_KEY_FILE),
      'TLS_KEY_FILE: is not the key',
    ],
    [
      'a certificate that is cut',
      () => writeFileSync(FILES.TLS_CERT_FILE, textsOf(authority.issue('DNS:auth.test'))[0].slice(0, 300)),
      'TLS_CERT_FILE: must be complete certificates',
    ],
    ['an empty file', () => writeFileSync(FILES.TLS_CERT_FILE, ''), 'TLS_CERT_FILE: must be complete certificates'],
    ['no file', () => rmSync(FILES.TLS_CERT_FILE), 'TLS_CERT_FILE: cannot be read'],
  ])('keeps the certificate from before, and says so once: %s', async (_name, damage, problem) => {
    install(authority.issue('DNS:auth.test'));
    await service.hangUp();
    const before = events(service, 'tls_certificate_unusable').length;
    damage();
    for (const _time of [1, 2, 3]) await service.hangUp();
    expect((await exchange(service.port, post(FORM))).statuses).toEqual([200]);
    const said = events(service, 'tls_certificate_unusable').slice(before);
    expect(said).toEqual([expect.objectContaining({ level: 'error', problem: expect.stringContaining(problem) })]);
    const check = () => service.built.checks().find(({ name }) => name === 'tls certificate');
    expect(check()?.readiness()).toMatchObject({ ready: true, note: { text: expect.stringContaining(problem) } });
    install(authority.issue('DNS:auth.test'));
    await service.hangUp();
    expect(check()?.readiness()).toEqual({ ready: true });
  });

  it.each(['at first', 'with a certificate that was loaded later'])(
    'does not renegotiate TLS 1.2, %s',
    async (when) => {
      if (when !== 'at first') {
        install(authority.issue('DNS:auth.test'));
        await service.hangUp();
      }
      const options = { host: '127.0.0.1', servername: 'auth.test', ca: readFileSync(authority.file) };
      const socket = connect({ ...options, port: service.port, maxVersion: 'TLSv1.2' });
      await once(socket, 'secureConnect');
      const ended = new Promise((resolve) => socket.on('error', resolve).on('close', () => resolve('closed')));
      const renegotiated = new Promise((resolve) => socket.renegotiate({}, (problem) => resolve(problem ?? 'done')));
      expect(await Promise.race([renegotiated, ended])).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
      socket.destroy();
      expect((await exchange(service.port, post(FORM), { maxVersion: 'TLSv1.2' })).statuses).toEqual([200]);
    },
  );

  it('reports an expired certificate, which is used all the same', async () => {
    install(authority.issueExpired('DNS:auth.test'));
    await service.hangUp();
    expect((await exchange(service.port, post(FORM), { rejectUnauthorized: false })).statuses).toEqual([200]);
    expect(events(service, 'tls_certificate_loaded').at(-1)).toMatchObject({
      problem: expect.stringContaining('has expired'),
    });
    await expect(exchange(service.port, post(FORM))).rejects.toThrow('certificate has expired');
  });

  it('starts with an expired certificate, and says so at once', async () => {
    install(authority.issueExpired('DNS:auth.test'));
    await using started = await start();
    expect((await exchange(started.port, post(FORM), { rejectUnauthorized: false })).statuses).toEqual([200]);
    expect(events(started, 'tls_certificate_loaded')).toEqual([
      expect.objectContaining({ problem: expect.stringContaining('has expired') }),
    ]);
  });

  it('survives clients that reset or end at each step of a handshake', async () => {
    const hello = await clientHello();
    for (let end = 0; end <= hello.length; end += 7) {
      const socket = connectPlain({ port: service.port, host: '127.0.0.1' }).on('error', () => {});
      socket.write(hello.subarray(0, end));
      setImmediate(() => (end % 2 === 0 ? socket.resetAndDestroy() : socket.end()));
      await once(socket.resume(), 'close');
    }
    expect((await exchange(service.port, post(FORM), { rejectUnauthorized: false })).statuses).toEqual([200]);
  });
});

/** What a client sends first. */
async function clientHello(): Promise<Buffer> {
  const { createServer } = await import('node:net');
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as { port: number }).port, host: '127.0.0.1' }).on(
    'error',
    () => {},
  );
  const [accepted] = await once(server, 'connection');
  const [bytes] = await once(accepted, 'data');
  client.destroy();
  server.close();
  return bytes;
}

describe('a client that does not finish its handshake', () => {
  const [chain, key] = textsOf(authority.issue('DNS:auth.test'));
  const certificate = readServerCertificate(chain, key);
  if (!certificate.ok) throw new Error(certificate.problem.join());
  const parts = { first: certificate.value, baseUrl: BASE_URL, onChange: () => {} };

  it('counts as a connection, gives way to a new one, and does not hold up the end; nor does one that sends no request', async () => {
    const tls = new TlsTermination({ ...parts, read: () => certificate });
    const timeouts = { ...HTTP_TIMEOUTS, idleMs: { stranger: 0, begun: 0, served: 0 } };
    const server = createHttpServer([], { tls, connectionsMax: 2, timeouts });
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    const silent = connectPlain(port, '127.0.0.1').on('error', () => {});
    const idle = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {});
    await once(idle, 'secureConnect');
    await until(() => server.load.connections === 2, 'both count');
    const third = connectPlain(port, '127.0.0.1').on('error', () => {});
    await once(silent.resume(), 'close');
    expect(server.load).toMatchObject({ connections: 2, dropped: 1 });
    await Promise.all([server.close(60_000, () => {}), once(third.resume(), 'close'), once(idle.resume(), 'close')]);
    await until(() => server.load.connections === 0, 'neither counts');
    await tls.close();
  });

  it('refuses a certificate with a date that cannot be read, which OpenSSL accepts', () => {
    const [block = ''] = chain.match(/(?<=-----BEGIN CERTIFICATE-----)[^-]+/) ?? [];
    const der = Buffer.from(block, 'base64');
    const valid = new X509Certificate(der).validTo;
    // Two values of the type UTCTime, with 13 bytes: the beginning of the validity and its end.
    const tag = Buffer.from([0x17, 13]);
    der.write('279999999999Z', der.indexOf(tag, der.indexOf(tag) + 1) + tag.length, 'latin1');
    expect(new X509Certificate(der).validTo).not.toBe(valid);
    const text = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
    expect(readServerCertificate(text, key)).toEqual({
      ok: false,
      problem: ['TLS_CERT_FILE: OpenSSL cannot use it'],
    });
  });

  it('finds changed files by itself, and says once that they do not fit each other', async () => {
    const changes: string[] = [];
    let read: ReturnType<typeof readServerCertificate> = certificate;
    let looks = 0;
    const termination = new TlsTermination({
      ...parts,
      lookEveryMs: 1,
      read: () => {
        looks += 1;
        return read;
      },
      onChange: ({ event }) => changes.push(event),
    });
    await termination.attach(createServer(termination.options));
    const [otherChain, otherKey] = textsOf(authority.issue('DNS:auth.test'));
    read = readServerCertificate(otherChain, key);
    const at = looks;
    await until(() => looks > at + 3, 'it has looked again');
    expect(changes).toEqual(['tls_certificate_loaded', 'tls_certificate_unusable']);
    read = readServerCertificate(otherChain, otherKey);
    await until(() => changes.length === 3, 'the pair is loaded');
    await termination.close();
    expect(changes.at(-1)).toBe('tls_certificate_loaded');
  });
});

describe('settings of TLS at startup', () => {
  const [chain, key] = textsOf(authority.issue('DNS:auth.test'));
  const [otherChain, otherKey] = textsOf(authority.issue('DNS:other.test'));
  const problemsOf = (environment: Readonly<Record<string, string>>, files: Readonly<Record<string, string>> = {}) => {
    const given = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json', BASE_URL, ...environment };
    const loaded = loadConfiguration(given, (path) => success(files[path] ?? '[]'));
    return problemsIn(loaded);
  };
  const CHAIN_RULE = 'TLS_CERT_FILE: must be complete certificates in PEM, with lines -----BEGIN CERTIFICATE-----';
  const OTHER_KEY =
    'TLS_KEY_FILE: is not the key of the first certificate in TLS_CERT_FILE, where the certificate of the server comes first, and then those of its authorities';
  const BOTH = { TLS_CERT_FILE: 'chain', TLS_KEY_FILE: 'key' };
  const pem = (label: string) => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`;

  it.each([
    ['one of two', { TLS_CERT_FILE: 'chain' }, { chain }, 'TLS_KEY_FILE: is required if TLS_CERT_FILE is set'],
    ['the other of two', { TLS_KEY_FILE: 'key' }, { key }, 'TLS_CERT_FILE: is required if TLS_KEY_FILE is set'],
    [
      'a base URL without TLS',
      { ...BOTH, BASE_URL: 'http://auth.test' },
      { chain, key },
      'BASE_URL: must be an https URL if TLS_CERT_FILE is set',
    ],
    ['a key of another certificate', BOTH, { chain, key: otherKey }, OTHER_KEY],
    ['the wrong order', BOTH, { chain: otherChain + chain, key }, OTHER_KEY],
    ['a key as the certificate', BOTH, { chain: key, key }, CHAIN_RULE],
    ['a broken certificate', BOTH, { chain: pem('CERTIFICATE'), key }, CHAIN_RULE],
    ['a cut chain', BOTH, { chain: chain + otherChain.slice(0, 200), key }, CHAIN_RULE],
    [
      'a certificate as the key',
      BOTH,
      { chain, key: chain },
      'TLS_KEY_FILE: must be a private key in PEM without a passphrase',
    ],
    [
      'a key with a passphrase',
      BOTH,
      { chain, key: pem('ENCRYPTED PRIVATE KEY') },
      'TLS_KEY_FILE: must be a private key in PEM without a passphrase',
    ],
  ])('%s is a problem', (_name, environment, files, problem) => {
    expect(problemsOf(environment, files)).toEqual([problem]);
  });

  it('are fine with a chain, and with both in one file', () => {
    const authorities = readFileSync(authority.file, 'utf8');
    expect(problemsOf(BOTH, { chain: chain + authorities, key })).toEqual([]);
    expect(problemsOf(BOTH, { chain: key + chain, key: key + chain })).toEqual([]);
  });
});

describe('the doctor about a certificate', () => {
  const inspect = (issued: Issued, baseUrl: string, days = 0) => {
    const read = readServerCertificate(...textsOf(issued));
    if (!read.ok) throw new Error(read.problem.join());
    return inspectCertificate(read.value, baseUrl, Date.now() + days * 86_400_000).map(
      ({ state, text }) => `${state} ${text}`,
    );
  };

  it('is a problem without the authorities of a public certificate, which names where they are', () => {
    const url = 'authorityInfoAccess=caIssuers;URI:http://authority.test/intermediate.crt';
    const issued = authority.issue('DNS:auth.test', 'ec', [url]);
    const alone = expect.stringMatching(/^problem TLS_CERT_FILE has the certificate of the server alone/);
    expect(inspect(issued, BASE_URL)).toContainEqual(alone);
    appendFileSync(issued.certificate, readFileSync(authority.file));
    expect(inspect(issued, BASE_URL)).not.toContainEqual(alone);
  });

  it('has a note if it expires within 30 days, and a problem if it has expired', () => {
    const issued = authority.issue('DNS:auth.test');
    expect(inspect(issued, BASE_URL, -29)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^ok TLS_CERT_FILE is valid until/)]),
    );
    expect(inspect(issued, BASE_URL)).toEqual([expect.stringMatching(/^note TLS_CERT_FILE is valid until/)]);
    expect(inspect(issued, BASE_URL, 3)).toEqual([expect.stringMatching(/^problem TLS_CERT_FILE has expired/)]);
    expect(inspect(issued, BASE_URL, -1)).toEqual([expect.stringContaining('not valid yet'), expect.anything()]);
  });

  it.each([
    ['DNS:auth.test', 'https://auth.test', true],
    ['DNS:*.auth.test', 'https://one.auth.test:8443', true],
    ['DNS:other.test', 'https://auth.test', false],
    ['IP:127.0.0.1', 'https://127.0.0.1:8443/path', true],
    ['IP:::1', 'https://[::1]:8443', true],
    ['DNS:auth.test', 'https://127.0.0.1', false],
  ])('compares the names of %s with %s', (names, baseUrl, fits) => {
    const found = inspect(authority.issue(names), baseUrl).filter((text) => text.includes(', not for '));
    expect(found).toHaveLength(fits ? 0 : 1);
  });
});
