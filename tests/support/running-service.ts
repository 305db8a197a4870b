import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { RsaSigner } from '../../adapters/jwt/algorithms.ts';
import { SigningThreads } from '../../adapters/jwt/signing-threads.ts';
import { jsonAuditLog } from '../../adapters/log/json-audit-log.ts';
import type { ClientRepository } from '../../application/ports/client-repository.ts';
import { buildService, type Service } from '../../config/build.ts';
import { checksBeforeStart } from '../../config/checks.ts';
import { type Core, createCore, PARTS, part } from '../../config/container.ts';
import type { Feature } from '../../config/feature.ts';
import type { Configuration } from '../../config/settings/configuration.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { startProcess } from '../../config/start-process.ts';
import { success } from '../../domain/result.ts';
import { createLogBuffer } from './log-buffer.ts';
import { pooledKeyFactory } from './pooled-key-factory.ts';
import { problemsIn } from './problems.ts';
import { REGISTERED_CLIENT, REGISTERED_SECRET } from './registered-client.ts';
import { recordResponsesOf, takeResponsesOf } from './response-record.ts';

export const ISSUER = 'http://issuer.test';

export const GOOD_SECRET = REGISTERED_SECRET;
export const GOOD_CLIENT = {
  client_id: REGISTERED_CLIENT.clientId,
  client_secret: REGISTERED_CLIENT.clientSecret,
  client_name: REGISTERED_CLIENT.clientName,
  scope: REGISTERED_CLIENT.scope,
};
export const PLAIN_CLIENT = {
  client_id: 'plain-client',
  client_secret: '{noop}plain-secret',
  client_name: 'A client of the demonstration',
  scope: 'read',
};

export interface ServiceOptions {
  /** Settings that add to, or override, those of the in-memory service. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The clients file. */
  readonly clients?: readonly Readonly<Record<string, unknown>>[];
  /** Further files, by their paths. */
  readonly files?: Readonly<Record<string, string>>;
  /** Registers what it replaces, before there is anything else. */
  readonly override?: (core: Core) => void;
  /** Changes the repository of the clients, such as to let it fail. */
  readonly wrapClients?: (clients: ClientRepository) => ClientRepository;
  /** Further parts of the service. */
  readonly features?: readonly Feature[];
  /** Limits that no setting changes. */
  readonly limits?: Pick<Configuration, 'httpTimeouts'>;
  /** Paths of routes that the test adds, which docs/openapi.json does not have. */
  readonly addedPaths?: readonly string[];
}

export interface ServiceUnderTest extends AsyncDisposable {
  readonly port: number;
  /** Its base URL, on loopback. */
  readonly url: string;
  readonly container: Core;
  readonly built: Service;
  /** The lines of the log so far, oldest first. */
  logLines(): readonly Record<string, unknown>[];
  logText(): string;
  /** What SIGHUP does. */
  hangUp(): Promise<void>;
  /** Fails if the service gave the test a response that docs/openapi.json does not have. */
  stop(): Promise<void>;
}

/**
 * The real service, built as in production, on a free loopback port, with its log kept in memory. So that it starts
 * fast, one thread signs, and its RSA keys were generated before.
 */
export async function startServiceUnderTest(options: ServiceOptions = {}): Promise<ServiceUnderTest> {
  const environment = {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'clients.json',
    CLIENT_SECRET_COST: '4',
    PORT: '0',
    MANAGEMENT_PORT: '0',
    BASE_URL: ISSUER,
    ...options.environment,
  };
  const clients = JSON.stringify(options.clients ?? [GOOD_CLIENT, PLAIN_CLIENT]);
  const readFile = (path: string) =>
    success(options.files?.[path] ?? (isAbsolute(path) ? readFileSync(path, 'utf8') : clients));
  const configuration = loadConfiguration(environment, readFile);
  if (!configuration.ok) throw new Error(problemsIn(configuration).join('\n'));

  const { log, text, lines, write } = createLogBuffer();
  const { settings } = configuration.value;
  const { override, wrapClients, features = [], limits } = options;
  const core = createCore();
  override?.(core);
  if (wrapClients !== undefined)
    part(core, PARTS.clientRepository, () => wrapClients(core.resolve(PARTS.storage).clients));
  part(core, PARTS.log, () => log);
  part(core, PARTS.signingThreads, () => new SigningThreads(1));
  if (settings.KEY_FILE === undefined && settings.TOKEN_SIGNING_ALG === 'RS256') {
    // Those that `override` puts in their place.
    const sign: RsaSigner['sign'] = (by, input) => core.resolve(PARTS.signingThreads).sign(by, input);
    part(core, PARTS.keyFactory, () => pooledKeyFactory({ sign }));
  }
  // As in production, audit lines are on standard output unless there is a file for them.
  if (settings.AUDIT_FILE === undefined) {
    const measured = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 1 };
    const writeLine = (line: string) => {
      write(line);
      return true;
    };
    const lines = { write: writeLine, keep: writeLine, writeRequired: async (line: string) => write(line) };
    const auditLog = jsonAuditLog(lines, { isRequired: settings.AUDIT_REQUIRED });
    part(core, PARTS.auditOutput, () => ({ auditLog, measured, checks: [], close: async () => {} }));
  }
  const built = await buildService({ ...configuration.value, ...limits }, { core, features });
  const service = await startProcess(built, settings, checksBeforeStart(configuration.value, environment));

  recordResponsesOf(service.port);
  const stop = async () => {
    await service.stop('immediate');
    await expectAllDocumented(service.port, options.addedPaths);
  };
  return {
    port: service.port,
    url: `http://${service.host}:${service.port}`,
    container: core,
    built,
    logText: text,
    logLines: lines,
    hangUp: () => service.hangUp(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function expectAllDocumented(port: number, addedPaths: readonly string[] = []): Promise<void> {
  const answers = takeResponsesOf(port).filter(({ request }) => !addedPaths.includes(request?.target ?? ''));
  if (answers.length === 0) return;
  // Loaded here, since most files of tests start no service.
  const { expectDocumented } = await import('./documented-responses.ts');
  for (const response of answers) expectDocumented(response);
}
