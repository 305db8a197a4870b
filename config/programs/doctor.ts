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
import { SystemClock } from '../../adapters/system/system.ts';
import { type ClientRow, inspectRows } from '../../application/client-lookup.ts';
import type { CheckState } from '../../application/ports/health-check.ts';
import { type Finding, fine, type Inspection, note, problem } from '../../application/ports/inspection.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { problemIn } from '../../domain/problem.ts';
import type { Configuration } from '../settings/configuration.ts';
import { listeningPlaces, openFilesPlan } from '../settings/derived-values.ts';
import { invisibleEnd } from '../settings/invisible-ends.ts';
import { loadConfiguration } from '../settings/load-configuration.ts';
import { hostHint } from '../settings/platform.ts';
import type { Environment } from '../settings/read-environment.ts';
import { settingDoubts } from '../settings/setting-doubts.ts';
import { CORE_GROUPS, type Settings } from '../settings/settings.ts';
import { databaseTables } from '../storages.ts';
import { inspectFeatures } from './inspect-features.ts';

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
    return [
      { name: 'settings', inspect: async () => loaded.problem.map(({ text, fix = RULES }) => problem(text, fix)) },
    ];
  }
  const { settings } = loaded.value;
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
        ...ownersProblems(CORE_GROUPS.storage.ownersFiles ?? [], environment).map(({ text }) => problem(text, WRITERS)),
        ...settingDoubts(environment).map(({ text, fix }) => note(text, fix)),
      ],
    },
    { name: 'service', inspect: async () => inspectRunning(running, settings) },
    {
      name: 'ports',
      inspect: async () => [
        ...(await inspectPorts(listeningPlaces(settings), isRunning)),
        ...[hostHint(environment) ?? []].flat().map(({ text, fix }) => note(text, fix)),
      ],
    },
    { name: 'memory', inspect: async () => inspectMemory() },
    { name: 'open files', inspect: async () => inspectOpenFiles(openFilesPlan(settings), wanted) },
    ...on(keyFile !== undefined, 'key file', async () => inspectKeyFile(keyFile ?? '', 'forge tokens')),
    ...on(secret !== undefined, 'key secret', async () => inspectKeySecretFile(secret ?? '')),
    ...on(audit !== undefined, 'audit file', async () => inspectWritableFile(audit ?? '', { isRequired })),
    ...on(settings.CLIENT_REPOSITORY === 'sqlite', 'database file', () => inspectFile(settings, isRunning)),
    ...on(url !== undefined, 'database', () => inspectDatabaseOf(settings, isRunning)),
    ...inspectFeatures(loaded.value, kid),
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
  const fixes = {
    client_id: invisibleEnd(clientId),
    client_secret: invisibleEnd(clientSecret),
    scope: scope.includes(',') ? 'separate scopes by spaces: a comma is part of a scope' : undefined,
  };
  return Object.entries(fixes).flatMap(([member, fix]) =>
    fix === undefined ? [] : [note(`CLIENTS_FILE: entry ${position}: ${member} is hardly meant like this`, fix)],
  );
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
  if (ready) {
    if (check.note === undefined) return [];
    return [
      note(`the service that runs says about ${name}: ${check.note}`, check.fix ?? 'docs/operate.md explains it'),
    ];
  }
  if (name === LIFECYCLE) {
    return [note(`the service that runs is ${check.reason}`, check.fix)];
  }
  const text = `the service that runs is not ready: ${name}: ${check.reason}`;
  return [problem(text, check.fix ?? 'it becomes ready without a restart')];
}

const RULES = 'docs/settings.md has the rule; correct this first, then run the doctor again';
const WRITERS = 'chmod go-w; a user who may write there decides who gets tokens';

/** Whether the file can be read as the service reads it. */
async function inspectFile({ DATABASE_FILE: file = '' }: Settings, isRunning: boolean): Promise<readonly Finding[]> {
  const { FileReader } = await import('../../adapters/sqlite/file-reader.ts');
  const { LIST_ROWS } = await import('../../adapters/sqlite/sqlite-client-repository.ts');
  const path = resolve(file);
  const opened = await FileReader.open(path, () => {}, undefined, isRunning).catch((fault: unknown) => {
    const unusable = problemIn(fault);
    if (unusable === undefined) throw fault;
    return unusable;
  });
  if (!(opened instanceof FileReader)) return [problem(opened.text, opened.fix)];
  const state = opened.readiness();
  const findings = state.ready ? inspectRows(opened.read<ClientRow>(LIST_ROWS), new SystemClock().now()) : [];
  await opened.close();
  if (!state.ready) return [problem(state.reason.text, state.reason.fix)];
  const notes = state.note === undefined ? [] : [note(state.note.text, state.note.fix)];
  return [fine(`${path} can be read`), ...notes, ...findings];
}

/** The ORM is loaded only where it is used. */
async function inspectDatabaseOf(settings: Settings, isRunning: boolean): Promise<readonly Finding[]> {
  const { inspectDatabase } = await import('../../adapters/postgres/doctor/inspect-database.ts');
  const { CLIENTS } = await import('../../adapters/postgres/client-entity.ts');
  const { others, connections } = await databaseTables(settings);
  const [hasClients, hasKeys] = [settings.CLIENT_REPOSITORY === 'postgres', settings.KEY_DIRECTORY === 'database'];
  return inspectDatabase({
    url: settings.DATABASE_URL?.reveal() ?? '',
    hasKeys,
    isRunning,
    tables: [...(hasClients ? [CLIENTS] : []), ...others],
    connections: connections + (hasClients ? settings.DATABASE_POOL_SIZE : 0),
  });
}

function publicUrls({ BASE_URL: baseUrl, TOKEN_ISSUER: issuer, PUBLIC_METADATA: isPublic }: Settings) {
  // The path of the route escapes what has a meaning in a route.
  const path = metadataPath(issuer).replaceAll('\\', '');
  const metadataUrl = `${new URL(baseUrl).origin}${path}`;
  const [tokenUrl, keySetUrl] = [`${baseUrl}${TOKEN_PATH}`, `${baseUrl}${KEY_SET_PATH}`];
  return { baseUrl, issuer, tokenUrl, metadataUrl, keySetUrl, isPublic };
}
