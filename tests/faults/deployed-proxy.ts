import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend } from '../support/balancer.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { followProgram, type Program } from '../support/program.ts';

/**
 * Addresses of this machine for the two replicas of the samples, which have the same ports. Linux has all of
 * 127.0.0.0/8.
 */
export const REPLICA_HOSTS = ['127.0.0.11', '127.0.0.12'];
/** The name in the samples. */
export const PUBLIC_NAME = 'auth.example.com';

interface Tool {
  readonly program: 'nginx' | 'haproxy' | 'caddy';
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

const OF_NGINX: Tool = { program: 'nginx', check: (file, folder) => ['-t', ...NGINX(file, folder)], run: NGINX };
const OF_HAPROXY: Tool = {
  program: 'haproxy',
  check: (file) => ['-c', '-f', file],
  run: (file) => ['-db', '-f', file],
};

/** Samples that a test can start. */
export const PROXIES = {
  'nginx.conf': OF_NGINX,
  'haproxy.cfg': OF_HAPROXY,
  Caddyfile: {
    program: 'caddy',
    check: (file) => ['validate', '--adapter', 'caddyfile', '--config', file],
    run: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
} as const satisfies Readonly<Record<string, Tool>>;

/** Why a sample cannot be tried here; undefined if it can. */
export function missingFor(sample: keyof typeof PROXIES): string | undefined {
  const { program } = PROXIES[sample];
  const isInstalled = spawnSync(program, [program === 'caddy' ? 'version' : '-v']).status === 0;
  return isInstalled ? undefined : `${program} is not installed`;
}

/** A sample of deploy/proxies with a certificate, files and ports of a test. */
export class DeployedProxy implements Disposable {
  readonly port: number;
  readonly authority = new CertificateAuthority();
  readonly #sample: keyof typeof PROXIES;
  /** For its name, in PEM. */
  readonly certificate: { readonly certificate: string; readonly key: string };
  readonly #folder = mkdtempSync(join(tmpdir(), 'proxy-'));
  readonly #file: string;

  private constructor(
    sample: keyof typeof PROXIES,
    port: number,
    { port: to, managementPort }: Backend,
    edit: (text: string) => string,
  ) {
    this.port = port;
    this.#sample = sample;
    this.#file = join(this.#folder, sample);
    this.certificate = this.authority.issue(`DNS:${PUBLIC_NAME}`);
    const { certificate, key } = this.certificate;
    const both = join(this.#folder, 'both.pem');
    writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'));
    // nginx reads them before it gives up its rights; its log belongs to the user of its workers.
    chmodSync(this.#folder, 0o777);
    const text = readFileSync(join('deploy/proxies', sample), 'utf8')
      .replaceAll('10.0.0.', '127.0.0.')
      .replaceAll('8080', String(to))
      .replaceAll('8081', String(managementPort))
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace('bind :443', `bind 127.0.0.1:${port}`)
      .replace(`/etc/ssl/${PUBLIC_NAME}.key`, key)
      .replace(`/etc/ssl/${PUBLIC_NAME}.pem`, PROXIES[sample].program === 'haproxy' ? both : certificate)
      .replaceAll('/var/log/nginx', this.#folder);
    writeFileSync(this.#file, edit(text));
  }

  /** @param edit what an operator does to the sample. */
  static async prepare(
    sample: keyof typeof PROXIES,
    backend: Backend,
    edit = (text: string) => text,
  ): Promise<DeployedProxy> {
    return new DeployedProxy(sample, await freePort(), backend, edit);
  }

  /** Throws if the program does not accept its configuration. */
  check(): void {
    const { program, check } = PROXIES[this.#sample];
    execFileSync(program, check(this.#file, this.#folder), { stdio: 'pipe' });
  }

  start(): Program {
    const { program, run } = PROXIES[this.#sample];
    return followProgram(spawn(program, run(this.#file, this.#folder)) as ChildProcessWithoutNullStreams);
  }

  [Symbol.dispose](): void {
    this.authority[Symbol.dispose]();
    rmSync(this.#folder, { recursive: true });
  }
}
