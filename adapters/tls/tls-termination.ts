import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { PeriodicTask } from '../../application/periodic-task.ts';
import type { Dependency, Readiness } from '../../application/ports/health-check.ts';
import type { Result } from '../../domain/result.ts';
import { inspectCertificate, type ServerCertificate } from './server-certificate.ts';

/** Milliseconds for a handshake, as for the header section of a request. */
const HANDSHAKE_MS = 10_000;

/** How often the files are read, in milliseconds. */
const LOOK_EVERY_MS = 10_000;

type Change =
  | {
      readonly event: 'tls_certificate_loaded';
      readonly names: string | undefined;
      readonly expires_at: string;
      readonly problem?: string;
    }
  | { readonly event: 'tls_certificate_unusable'; readonly problem: string };

interface TlsTerminationParts {
  readonly first: ServerCertificate;
  /** Reads the files again. */
  readonly read: () => Result<ServerCertificate, readonly string[]>;
  readonly baseUrl: string;
  readonly onChange: (change: Change) => void;
  readonly lookEveryMs?: number;
}

/**
 * TLS 1.2 and 1.3 in front of HTTP/1.1 (RFC 8446, RFC 9325). The files are read every 10 s and when `reload` is called. While the new ones
 * are not usable, the certificate from before is used. A handshake has 10 s, and counts as a connection of the server.
 *
 * Not `https.createServer`: it does not say which connection a handshake was on, which a PROXY header and the end of the server need.
 */
export class TlsTermination implements Dependency {
  readonly name = 'tls certificate';
  readonly #parts: TlsTerminationParts;
  readonly #server;
  /** What follows each handshake, by the addresses and ports of its connection. */
  readonly #handshakes = new Map<string, (secure: TLSSocket) => void>();
  readonly #looks: PeriodicTask;
  #current: ServerCertificate;
  #suspected: string | undefined;
  #problem: string | undefined;
  #failed = 0;

  constructor(parts: TlsTerminationParts) {
    this.#parts = parts;
    this.#current = parts.first;
    const options = { handshakeTimeout: HANDSHAKE_MS, ALPNProtocols: ['http/1.1'] };
    this.#server = createServer({ ...contextOf(parts.first), ...options });
    this.#server.on('secureConnection', (socket) => this.#handshakes.get(connectionOf(socket))?.(socket));
    this.#server.on('tlsClientError', (_fault, socket) => {
      this.#failed += 1;
      socket.destroy();
    });
    this.#looks = new PeriodicTask(async () => {
      this.#look('again');
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

  /** Begins to look for new files. */
  async start(): Promise<void> {
    this.#report();
    await this.#looks.start();
  }

  /** Reads the files now. Never throws. */
  readonly reload = (): void => this.#look('at once');

  readiness(): Readiness {
    const isOver = this.expiresAt.getTime() < Date.now();
    const text = this.#problem ?? (isOver ? 'TLS_CERT_FILE has expired' : undefined);
    if (text === undefined) return { ready: true };
    const fix = 'write a valid certificate and its key to the files; they are read again without a restart';
    return { ready: true, note: { code: 'TLS_CERT_FILE', text, fix } };
  }

  async close(): Promise<void> {
    this.#looks.close();
  }

  readonly layer = <Accepted extends { readonly socket: Socket }>(
    accepted: Accepted,
    next: (ready: Accepted) => void,
  ): void => {
    const { socket } = accepted;
    const connection = connectionOf(socket);
    const proceed = (secure: TLSSocket) => {
      this.#handshakes.delete(connection);
      next({ ...accepted, socket: secure });
    };
    this.#handshakes.set(connection, proceed);
    socket.once('close', () => {
      // Another connection may have the same port by now.
      if (this.#handshakes.get(connection) === proceed) this.#handshakes.delete(connection);
    });
    // As on a server of Node's for TLS: a client that ends within its handshake is disconnected.
    socket.allowHalfOpen = false;
    this.#server.emit('connection', socket);
  };

  /** The two files are replaced one after the other, so that a problem counts when it is found again. */
  #look(counts: 'at once' | 'again'): void {
    const read = this.#parts.read();
    if (!read.ok) {
      const found = `${read.problem.join('; ')}; the certificate from before is used`;
      const isNew = found !== this.#problem && (counts === 'at once' || found === this.#suspected);
      this.#suspected = found;
      if (!isNew) return;
      this.#problem = found;
      this.#parts.onChange({ event: 'tls_certificate_unusable', problem: found });
      return;
    }
    const { chain, key } = read.value;
    const isSame = chain === this.#current.chain && key === this.#current.key;
    const isRepaired = this.#problem !== undefined;
    this.#suspected = undefined;
    this.#problem = undefined;
    if (!isSame) {
      this.#server.setSecureContext(contextOf(read.value));
      this.#current = read.value;
    }
    if (!isSame || isRepaired) this.#report();
  }

  #report(): void {
    const { leaf, expiresAt } = this.#current;
    const findings = inspectCertificate(this.#current, this.#parts.baseUrl, Date.now());
    const problem = findings.flatMap(({ state, text }) => (state === 'problem' ? [text] : [])).join('; ');
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

function connectionOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
