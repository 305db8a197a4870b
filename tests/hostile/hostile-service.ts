import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority } from '../support/certificates.ts';
import { newRsaKey } from '../support/pooled-key-factory.ts';
import { GOOD_CLIENT, GOOD_SECRET, ISSUER } from '../support/running-service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { TokenForge } from './token-forge.ts';

/** The service in its own process, with a key that the tests have too. */
export interface HostileService extends AsyncDisposable {
  readonly port: number;
  readonly security: 'plain' | 'tls';
  readonly forge: TokenForge;
  /** The complete lines of its log and of its audit log so far that have a request id. */
  linesOf(requestId: string): readonly string[];
  /** Everything that it has written: the log and the audit log included. */
  written(): string;
  /** Whether its process has not ended. */
  isAlive(): boolean;
}

/** A client whose secret is only guessed, so that the failures of others do not delay it. */
export const WRONGED_CLIENT = { ...GOOD_CLIENT, client_id: 'wronged-client' };

export interface HostileServiceOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** What is written into files, by the setting that names each file. */
  readonly files?: Readonly<Record<string, string>>;
  /** Further fields of the registration of the client whose secret is right. */
  readonly client?: Readonly<Record<string, unknown>>;
}

/** Starts the service. Without settings for a database, the clients are in memory. */
export async function startHostileService(options: HostileServiceOptions = {}): Promise<HostileService> {
  const stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const [key, kid] = [newRsaKey(), 'key-of-the-service'];
  const files = {
    CLIENTS_FILE: JSON.stringify([{ ...GOOD_CLIENT, ...options.client }, WRONGED_CLIENT]),
    KEY_FILE: JSON.stringify({ ...key.export({ format: 'jwk' }), kid }),
    ...options.files,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const paths = Object.fromEntries(Object.keys(files).map((name) => [name, join(folder, name)]));
  const service = await startServiceProcess({
    CLIENT_SECRET_COST: '4',
    BASE_URL: ISSUER,
    ...paths,
    ...options.settings,
  });
  const { program } = service;
  const auditFile = join(folder, 'AUDIT_FILE');
  let audited = '';
  const auditLog = () => {
    if (existsSync(auditFile)) audited = readFileSync(auditFile, 'utf8');
    return audited;
  };
  const sources = [new LinesByRequest(program.stdout), new LinesByRequest(auditLog)];
  stack.defer(() => void auditLog());
  stack.use(program);
  return {
    port: Number(new URL(service.url).port),
    security: options.files?.['TLS_CERT_FILE'] === undefined ? 'plain' : 'tls',
    forge: new TokenForge(key, kid, ISSUER),
    linesOf: (requestId) => sources.flatMap((source) => source.of(requestId)),
    written: () => program.stdout() + program.stderr() + auditLog(),
    isAlive: () => program.process.exitCode === null && program.process.signalCode === null,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The lines of a text that grows. Each is looked at once, since thousands of requests ask for theirs. */
class LinesByRequest {
  readonly #text: () => string;
  readonly #lines = new Map<string, string[]>();
  #read = 0;

  constructor(text: () => string) {
    this.#text = text;
  }

  of(requestId: string): readonly string[] {
    const text = this.#text();
    const end = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(this.#read, end).split('\n')) {
      const [, id = ''] = /"request_id":"([^"]+)"/.exec(line) ?? [];
      this.#lines.set(id, [...(this.#lines.get(id) ?? []), line]);
    }
    this.#read = end;
    return this.#lines.get(requestId) ?? [];
  }
}

/** The same with TLS on its public port. */
export function startHostileServiceWithTls(options: HostileServiceOptions = {}): Promise<HostileService> {
  using authority = new CertificateAuthority();
  const { certificate, key } = authority.issue('DNS:issuer.test');
  return startHostileService({
    ...options,
    settings: { BASE_URL: 'https://issuer.test', TOKEN_ISSUER: ISSUER, ...options.settings },
    files: {
      TLS_CERT_FILE: readFileSync(certificate, 'utf8'),
      TLS_KEY_FILE: readFileSync(key, 'utf8'),
      ...options.files,
    },
  });
}

/** The secret that the log and the responses must not have. */
export const SECRETS = new RegExp(`${GOOD_SECRET}|-secret|eyJ|\\$2[abxy]\\$`);
