import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const NEW_KEYS = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
  rsa: ['-newkey', 'rsa:2048', '-nodes'],
} as const;

/** A certificate authority for one test, in its own folder. Makes certificates with the openssl program. */
export class CertificateAuthority implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  /** The file of its own certificate. */
  readonly file = join(this.#folder, 'authority.pem');
  #issued = 0;
  readonly #key = join(this.#folder, 'authority.key');

  constructor() {
    // A database server of another user reads what is in it.
    chmodSync(this.#folder, 0o755);
    this.#make('/CN=Authority', this.#key, this.file, ...NEW_KEYS.ec);
  }

  /**
   * The files of a new certificate and its key.
   *
   * @param names as of a subject alternative name, such as `DNS:localhost` or `IP:127.0.0.1`.
   * @param extensions more of them, as openssl reads them.
   */
  issue(
    names: string,
    keyType: keyof typeof NEW_KEYS = 'ec',
    extensions: readonly string[] = [],
  ): { readonly certificate: string; readonly key: string } {
    this.#issued += 1;
    const base = join(this.#folder, `${names.replaceAll(/\W/g, '-')}-${this.#issued}`);
    const files = { certificate: `${base}.pem`, key: `${base}.key` };
    const added = [`subjectAltName=${names}`, ...extensions].flatMap((extension) => ['-addext', extension]);
    const signed = ['-CA', this.file, '-CAkey', this.#key, ...added];
    this.#make('/CN=server', files.key, files.certificate, ...NEW_KEYS[keyType], ...signed);
    return files;
  }

  /** The same, of a certificate that expired long ago. */
  issueExpired(names: string): { readonly certificate: string; readonly key: string } {
    const { key } = this.issue(names);
    const [base, certificate] = [key.replace(/\.key$/, ''), key.replace(/\.key$/, '-expired.pem')];
    const request = ['req', '-new', '-key', key, '-subj', '/CN=server', '-addext', `subjectAltName=${names}`];
    execFileSync('openssl', [...request, '-out', `${base}.csr`], { stdio: 'pipe' });
    const lines = [
      'database = index',
      'rand_serial = yes',
      'default_md = sha256',
      'policy = p',
      'copy_extensions = copy',
    ];
    writeFileSync(join(this.#folder, 'index'), '');
    writeFileSync(
      join(this.#folder, 'ca.cnf'),
      `[ca]\ndefault_ca = d\n[d]\nnew_certs_dir = .\n${lines.join('\n')}\n[p]\ncommonName = supplied\n`,
    );
    const signed = ['ca', '-batch', '-notext', '-config', 'ca.cnf', '-cert', this.file, '-keyfile', this.#key];
    const times = ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z'];
    execFileSync('openssl', [...signed, ...times, '-in', `${base}.csr`, '-out', certificate], {
      cwd: this.#folder,
      stdio: 'pipe',
    });
    return { certificate, key };
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }

  #make(subject: string, key: string, certificate: string, ...more: readonly string[]): void {
    const files = ['-keyout', key, '-out', certificate];
    execFileSync('openssl', ['req', '-x509', '-days', '2', '-subj', subject, ...files, ...more], {
      stdio: 'pipe',
    });
  }
}
