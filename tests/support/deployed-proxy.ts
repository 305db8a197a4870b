import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend } from './balancer.ts';
import { CertificateAuthority } from './certificates.ts';
import { freePort } from './free-port.ts';
import { followProgram, type Program } from './program.ts';

/** Addresses of this machine for the two replicas of the samples, which have the same ports. Linux has all of 127.0.0.0/8. */
export const REPLICA_HOSTS = ['127.0.0.11', '127.0.0.12'];
/** The name in the samples. */
export const PUBLIC_NAME = 'auth.example.com';

interface Tool {
  readonly sample: string;
  readonly check: (file: string, folder: string) => readonly string[];
  readonly run: (file: string, folder: string) => readonly string[];
}

/** One process, which ends with everything that belongs to it. */
const NGINX = (file: string, folder: string) => [
  '-c',
  file,
  '-e',
  'stderr',
  '-g',
  `pid ${folder}/pid; daemon off; master_process off;`,
];

/** Proxies that a test can start, by the name of their program. */
export const PROXIES = {
  nginx: { sample: 'nginx.conf', check: (file, folder) => ['-t', ...NGINX(file, folder)], run: NGINX },
  haproxy: { sample: 'haproxy.cfg', check: (file) => ['-c', '-f', file], run: (file) => ['-db', '-f', file] },
  caddy: {
    sample: 'Caddyfile',
    check: (file) => ['validate', '--adapter', 'caddyfile', '--config', file],
    run: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
} as const satisfies Readonly<Record<string, Tool>>;

/** A sample of deploy/proxies with a certificate, files and ports of a test. */
export class DeployedProxy implements Disposable {
  readonly port: number;
  readonly authority = new CertificateAuthority();
  readonly #program: keyof typeof PROXIES;
  readonly #folder = mkdtempSync(join(tmpdir(), 'proxy-'));
  readonly #file: string;

  private constructor(program: keyof typeof PROXIES, port: number, { port: to, managementPort }: Backend) {
    this.port = port;
    this.#program = program;
    this.#file = join(this.#folder, PROXIES[program].sample);
    const { certificate, key } = this.authority.issue(`DNS:${PUBLIC_NAME}`);
    const both = join(this.#folder, 'both.pem');
    writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'));
    // nginx reads them before it gives up its rights; its log belongs to the user of its workers.
    chmodSync(this.#folder, 0o777);
    const text = readFileSync(join('deploy/proxies', PROXIES[program].sample), 'utf8')
      .replaceAll('10.0.0.', '127.0.0.')
      .replaceAll('8080', String(to))
      .replaceAll('8081', String(managementPort))
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace('bind :443', `bind 127.0.0.1:${port}`)
      .replace(`/etc/ssl/${PUBLIC_NAME}.key`, key)
      .replace(`/etc/ssl/${PUBLIC_NAME}.pem`, program === 'haproxy' ? both : certificate)
      .replaceAll('/var/log/nginx', this.#folder);
    writeFileSync(this.#file, text);
  }

  static async prepare(program: keyof typeof PROXIES, backend: Backend): Promise<DeployedProxy> {
    return new DeployedProxy(program, await freePort(), backend);
  }

  /** Throws if the program does not accept its configuration. */
  check(): void {
    execFileSync(this.#program, PROXIES[this.#program].check(this.#file, this.#folder), { stdio: 'pipe' });
  }

  start(): Program {
    const args = PROXIES[this.#program].run(this.#file, this.#folder);
    return followProgram(spawn(this.#program, args) as ChildProcessWithoutNullStreams);
  }

  [Symbol.dispose](): void {
    this.authority[Symbol.dispose]();
    rmSync(this.#folder, { recursive: true });
  }
}
