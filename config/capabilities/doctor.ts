import { resolve } from 'node:path';
import { runDoctor } from '../../adapters/cli/doctor/run-doctor.ts';
import type { TerminalStreams } from '../../adapters/cli/terminal.ts';
import { KEY_SET_PATH, metadataPath, TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import { CONNECTIONS_MAX } from '../../adapters/http/server/http-server.ts';
import { LIFECYCLE } from '../../adapters/http/server/running-server.ts';
import { inspectBaseUrl } from '../../adapters/http-client/doctor/inspect-base-url.ts';
import { askRunningService } from '../../adapters/http-client/management-port.ts';
import { inspectPorts } from '../../adapters/system/doctor/inspect-ports.ts';
import { connectionsInMemory } from '../../adapters/system/host-limits.ts';
import {
  inspectKeyFile,
  inspectKeySecretFile,
  inspectMemory,
  inspectOpenFiles,
  inspectWritableFile,
} from '../../adapters/system/inspect-host.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { ownersProblems, readTextFile } from '../../adapters/system/read-text-file.ts';
import { inspectRows } from '../../application/client-lookup.ts';
import type { CheckState } from '../../application/ports/health-check.ts';
import { type Finding, fine, type Inspection, note, problem } from '../../application/ports/inspection.ts';
import { DATABASES } from '../../application/ports/telemetry.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { CAPABILITIES } from '../capabilities.ts';
import type { CapabilityTables } from '../capability.ts';
import type { Configuration } from '../settings/configuration.ts';
import { listeningPlaces, openFilesPlan } from '../settings/derived-values.ts';
import { invisibleEnd } from '../settings/invisible-ends.ts';
import { loadConfiguration } from '../settings/load-configuration.ts';
import { hostHint } from '../settings/platform.ts';
import type { Environment } from '../settings/read-environment.ts';
import { settingDoubts } from '../settings/setting-doubts.ts';
import { CORE_GROUPS, type Settings } from '../settings/settings.ts';

/** Entries of CLIENTS_FILE that are named one by one. */
const DOUBTS_MAX = 10;

/** The program of `npm run doctor`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function inspectService(
  args: readonly string[],
  streams: TerminalStreams,
  environment: Environment,
): Promise<number> {
  return runDoctor(args, streams, {
    inspections: (kid) => openInspections(environment, kid),
    version: programVersion(),
  });
}

/** The inspections for the settings of an environment. If these have problems, nothing else can be looked at. */
async function openInspections(environment: Environment, kid?: string): Promise<readonly Inspection[]> {
  const loaded = loadConfiguration(environment, readTextFile);
  if (!loaded.ok) {
    const cure = 'docs/settings.md has the rule; correct this first, then run the doctor again';
    return [{ name: 'settings', inspect: async () => loaded.problem.map((text) => problem(text, cure)) }];
  }
  const { settings, own } = loaded.value;
  const running = await askRunningService(settings.MANAGEMENT_HOST, settings.MANAGEMENT_PORT);
  const isRunning = running !== undefined;
  const { DATABASE_URL: url, KEY_FILE: keyFile, KEY_SECRET_FILE: secret } = settings;
  const { AUDIT_FILE: audit, AUDIT_REQUIRED: isRequired } = settings;
  const on = (condition: boolean, name: string, inspect: Inspection['inspect']) =>
    condition ? [{ name, inspect }] : [];
  const wanted = Math.min(CONNECTIONS_MAX, connectionsInMemory('plain'));
  return [
    {
      name: 'settings',
      inspect: async () => [
        ...inspectSettings(loaded.value),
        // Files of keys have inspections of their own.
        ...ownersProblems(CORE_GROUPS.storage.ownersFiles ?? [], environment).map((text) => problem(text, WRITERS)),
        ...notesOf(settingDoubts(environment)),
      ],
    },
    { name: 'service', inspect: async () => inspectRunning(running, settings) },
    {
      name: 'ports',
      inspect: async () => [
        ...(await inspectPorts(listeningPlaces(settings), isRunning)),
        ...notesOf([hostHint(environment) ?? []].flat()),
      ],
    },
    { name: 'memory', inspect: async () => inspectMemory() },
    { name: 'open files', inspect: async () => inspectOpenFiles(openFilesPlan(settings), wanted) },
    ...on(keyFile !== undefined, 'key file', async () => inspectKeyFile(keyFile ?? '', 'forge tokens')),
    ...on(secret !== undefined, 'key secret', async () => inspectKeySecretFile(secret ?? '')),
    ...on(audit !== undefined, 'audit file', async () => inspectWritableFile(audit ?? '', { isRequired })),
    ...on(settings.CLIENT_REPOSITORY === 'sqlite', 'database file', () => inspectFile(settings, isRunning)),
    ...on(url !== undefined, 'database', () => inspectDatabaseOf(settings, isRunning)),
    ...CAPABILITIES.flatMap(({ name, inspect }) => inspect?.(loaded.value, own.get(name), kid) ?? []),
    { name: 'public URL', inspect: () => inspectBaseUrl({ ...publicUrls(settings), kid }, isRunning) },
  ];
}

function inspectSettings({ settings, clients }: Configuration): readonly Finding[] {
  const { CLIENT_REPOSITORY: repository, BASE_URL: baseUrl, TOKEN_ISSUER: issuer } = settings;
  const { KEY_DIRECTORY: directory, TOKEN_SIGNING_ALG: algorithm, SERVICE_PROFILE: profile } = settings;
  const plain = clients.filter(({ clientSecret }) => clientSecret.startsWith('{noop}')).length;
  return [
    fine(
      `registrations in ${repository}, keys for ${algorithm} in ${directory}, BASE_URL ${baseUrl}, issuer ${issuer}, profile ${profile}`,
    ),
    ...(repository === 'memory' ? [countOf(clients.length)] : []),
    ...(plain > 0
      ? [
          note(
            `secrets in plain text in CLIENTS_FILE: ${plain}`,
            'replace {noop}… by the output of npm run clients -- hash',
          ),
        ]
      : []),
    ...clients.flatMap(doubtsAboutClient).slice(0, DOUBTS_MAX),
  ];
}

function doubtsAboutClient({ clientId, clientSecret, scope }: NewClient, position: number): readonly Finding[] {
  const cures = {
    client_id: invisibleEnd(clientId),
    client_secret: invisibleEnd(clientSecret),
    scope: scope.includes(',') ? 'separate scopes by spaces: a comma is part of a scope' : undefined,
  };
  return Object.entries(cures).flatMap(([member, cure]) =>
    cure === undefined ? [] : [note(`CLIENTS_FILE: entry ${position}: ${member} is hardly meant like this`, cure)],
  );
}

/** Doubts that end in what to do. */
function notesOf(doubts: readonly string[]): readonly Finding[] {
  return doubts.map((doubt) => {
    const [, text = '', cure = ''] = /^(.*?): ([^:]*)$/s.exec(doubt) ?? [];
    return note(text, cure);
  });
}

function countOf(clients: number): Finding {
  const text = `registrations in CLIENTS_FILE: ${clients}`;
  return clients > 0 ? fine(text) : note(text, 'add one, as config/demo/clients.json shows: nobody gets a token');
}

/** What the service that runs says about itself. */
function inspectRunning(
  checks: readonly CheckState[] | undefined,
  { MANAGEMENT_PORT: port }: Settings,
): readonly Finding[] {
  if (port === 0) return [note('MANAGEMENT_PORT is 0: a service that runs cannot be asked', 'set it to a port')];
  if (checks === undefined) return [fine(`no service answers on MANAGEMENT_PORT ${port}: it does not run here`)];
  return [
    ...checks.flatMap(inspectCheck),
    ...(checks.every(({ ready }) => ready) ? [fine('the service runs, and is ready')] : []),
  ];
}

function inspectCheck(check: CheckState): readonly Finding[] {
  const { name, ready } = check;
  const cureOr = (otherwise: string) =>
    DATABASES.some((database) => database === name) ? 'do what the lines of database say' : otherwise;
  if (ready) {
    if (check.note === undefined) return [];
    return [note(`the service that runs says about ${name}: ${check.note}`, cureOr('docs/operations.md explains it'))];
  }
  if (name === LIFECYCLE) {
    return [
      note(`the service that runs is ${check.reason}`, 'wait until it is ready or has ended, then run this again'),
    ];
  }
  const text = `the service that runs is not ready: ${name}: ${check.reason}`;
  return [problem(text, cureOr('fix that; it becomes ready without a restart'))];
}

const WRITERS = 'chmod go-w; a user who may write there decides who gets tokens';
const ADD = 'npm run clients -- add <client-id> --name … --scope …';

/** Whether the file can be read as the service reads it. */
async function inspectFile({ DATABASE_FILE: file = '' }: Settings, isRunning: boolean): Promise<readonly Finding[]> {
  const { FileReader } = await import('../../adapters/sqlite/file-reader.ts');
  const { LIST_ROWS } = await import('../../adapters/sqlite/sqlite-client-repository.ts');
  const path = resolve(file);
  const opened = await FileReader.open(path, () => {}, undefined, isRunning).catch((fault: Error) => fault);
  const state = opened instanceof FileReader ? opened.readiness() : ({ ready: false, reason: opened.message } as const);
  const findings = opened instanceof FileReader && state.ready ? inspectRows(opened.read(LIST_ROWS)) : [];
  if (opened instanceof FileReader) await opened.close();
  const notes = state.ready && state.note !== undefined ? [note(state.note, ADD)] : [];
  if (state.ready) return [fine(`${path} can be read`), ...notes, ...findings];
  const [, text = state.reason, cure = ''] = /^(.*): (.*)$/s.exec(state.reason) ?? [];
  return [problem(text, cure)];
}

/** The ORM is loaded only where it is used. */
async function inspectDatabaseOf(settings: Settings, isRunning: boolean): Promise<readonly Finding[]> {
  const { inspectDatabase } = await import('../../adapters/postgres/doctor/inspect-database.ts');
  const { CLIENTS } = await import('../../adapters/postgres/client-entity.ts');
  const more: readonly CapabilityTables[] = await Promise.all(
    CAPABILITIES.map(async ({ tables }) => (await tables?.(settings)) ?? {}),
  );
  const [hasClients, hasKeys] = [settings.CLIENT_REPOSITORY === 'postgres', settings.KEY_DIRECTORY === 'database'];
  return inspectDatabase({
    url: settings.DATABASE_URL?.reveal() ?? '',
    hasKeys,
    isRunning,
    tables: [...(hasClients ? [CLIENTS] : []), ...more.flatMap(({ inOwnPool = [] }) => inOwnPool)],
    connections: more.reduce(
      (sum, { connections = 0 }) => sum + connections,
      hasClients ? settings.DATABASE_POOL_SIZE : 0,
    ),
  });
}

function publicUrls({ BASE_URL: baseUrl, TOKEN_ISSUER: issuer, PUBLIC_METADATA: isPublic }: Settings) {
  // The path of the route escapes what has a meaning in a route.
  const path = metadataPath(issuer).replaceAll('\\', '');
  const metadataUrl = `${new URL(baseUrl).origin}${path}`;
  const [tokenUrl, keySetUrl] = [`${baseUrl}${TOKEN_PATH}`, `${baseUrl}${KEY_SET_PATH}`];
  return { baseUrl, issuer, tokenUrl, metadataUrl, keySetUrl, isPublic };
}
