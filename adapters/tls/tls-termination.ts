import { constants } from 'node:crypto';
import type { Server, TlsOptions } from 'node:tls';
import { PeriodicTask } from '../../application/periodic-task.ts';
import type { Dependency, Readiness } from '../../application/ports/health-check.ts';
import type { Finding } from '../../domain/finding.ts';
import type { Result } from '../../domain/result.ts';
import { inspectCertificate, type ServerCertificate } from './server-certificate.ts';

/** Milliseconds for a handshake, as for the header section of a request. */
const HANDSHAKE_MS = 10_000;

/** How often the files are read, in milliseconds. */
const LOOK_EVERY_MS = 10_000;

interface Change {
  readonly event: 'tls_certificate_loaded' | 'tls_certificate_unusable';
  readonly names?: string | undefined;
  readonly expires_at?: string;
  readonly problem?: string;
}

interface TlsTerminationParts {
  readonly first: ServerCertificate;
  /** Reads the files again. */
  readonly read: () => Result<ServerCertificate, readonly string[]>;
  readonly baseUrl: string;
  readonly onChange: (change: Change) => void;
  readonly lookEveryMs?: number;
}

/**
 * TLS 1.2 and 1.3 on a server of Node.js (RFC 8446, RFC 9325). The files are read every 10 s and when `reload` is
 * called. While the new ones are not usable, the certificate from before is used.
 */
export class TlsTermination implements Dependency {
  readonly name = 'tls certificate';
  readonly options: TlsOptions;
  readonly #parts: TlsTerminationParts;
  readonly #looks: PeriodicTask;
  #server: Server | undefined;
  #current: ServerCertificate;
  #problem: string | undefined;
  #failed = 0;

  constructor(parts: TlsTerminationParts) {
    this.#parts = parts;
    this.#current = parts.first;
    this.options = { ...contextOf(parts.first), handshakeTimeout: HANDSHAKE_MS, ALPNProtocols: ['http/1.1'] };
    this.#looks = new PeriodicTask(async () => {
      this.reload();
      return parts.lookEveryMs ?? LOOK_EVERY_MS;
    });
  }

  /** Handshakes that failed, such as those of clients that speak plain HTTP or do not trust the certificate. */
  get failed(): number {
    return this.#failed;
  }

  get expiresAt(): Date {
    return this.#current.expiresAt;
  }

  /** Follows the files for a server that was created with `options`. */
  async attach(server: Server): Promise<void> {
    this.#server = server;
    server.on('tlsClientError', () => {
      this.#failed += 1;
    });
    this.#report();
    await this.#looks.start();
  }

  /** Reads the files now. Never throws. */
  readonly reload = (): void => {
    const read = this.#parts.read();
    const before = this.#problem;
    if (!read.ok) {
      this.#problem = `${read.problem.join('; ')}; the certificate from before is used`;
      if (this.#problem !== before) {
        this.#parts.onChange({ event: 'tls_certificate_unusable', problem: this.#problem });
      }
      return;
    }
    this.#problem = undefined;
    const { chain, key } = read.value;
    const isSame = chain === this.#current.chain && key === this.#current.key;
    if (!isSame) this.#server?.setSecureContext(contextOf(read.value));
    this.#current = read.value;
    if (!isSame || before !== undefined) this.#report();
  };

  readiness(): Readiness {
    const fix = 'write a valid certificate and its key to the files; they are read again without a restart';
    const unusable = this.#problem === undefined ? [] : [{ text: this.#problem, fix }];
    const [found] = [...unusable, ...this.#inspect().filter(({ state }) => state === 'problem')];
    return found === undefined ? { ready: true } : { ready: true, note: { code: 'TLS_CERT_FILE', ...found } };
  }

  async close(): Promise<void> {
    this.#looks.close();
  }

  #inspect(): readonly Finding[] {
    return inspectCertificate(this.#current, this.#parts.baseUrl, Date.now());
  }

  #report(): void {
    const { leaf, expiresAt } = this.#current;
    const problem = this.#inspect()
      .flatMap(({ state, text }) => (state === 'problem' ? [text] : []))
      .join('; ');
    this.#parts.onChange({
      event: 'tls_certificate_loaded',
      names: leaf.subjectAltName,
      expires_at: expiresAt.toISOString(),
      ...(problem && { problem }),
    });
  }
}

/** Without renegotiation, which costs a caller little and the service a handshake (RFC 9325 section 3.5). */
function contextOf({ chain, key }: ServerCertificate) {
  return { cert: chain, key, minVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_RENEGOTIATION } as const;
}
