import { readClientsFile } from '../../adapters/files/clients-file.ts';
import { jsonReader } from '../../adapters/files/json-fault.ts';
import { HTTP_TIMEOUTS } from '../../adapters/http/server/http-server.ts';
import { readKeyFile } from '../../adapters/jwt/read-key-file.ts';
import type { ReadTextFile } from '../../adapters/system/read-text-file.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { readTokenAlgorithm } from '../../domain/token-key.ts';
import { CAPABILITIES } from '../capabilities.ts';
import type { Reading } from '../capability.ts';
import type { Configuration } from './configuration.ts';
import { databaseFileProblems, readDatabaseUrl } from './database-url.ts';
import { invisibleEnd } from './invisible-ends.ts';
import type { Environment, SettingsGroup } from './read-environment.ts';
import { CORE_GROUPS, readSettings } from './settings.ts';

/** The settings of all capabilities. */
export const SLICES = CAPABILITIES.flatMap(({ settings }) => settings ?? []);

/** All settings of the service. */
export const SETTINGS_GROUPS: readonly SettingsGroup[] = [...Object.values(CORE_GROUPS), ...SLICES];

/** Reads the environment and the files that it names. Fails with every problem of all of them, by name, without a value. */
export function loadConfiguration(
  environment: Environment,
  readTextFile: ReadTextFile,
): Result<Configuration, readonly string[]> {
  /** What the file of a setting holds; undefined where the setting is absent. */
  function load<Value>(name: string, parse: (text: string) => Result<Value, readonly string[]>) {
    const path = environment[name];
    if (!path || invisibleEnd(path) !== undefined) return success(undefined);
    const text = readTextFile(path);
    const parsed = text.ok ? parse(text.value) : failure([text.problem]);
    return parsed.ok ? parsed : failure(parsed.problem.map((problem) => `${name}: ${problem}`));
  }
  const settings = readSettings(environment, SLICES);
  const clients =
    environment['CLIENT_REPOSITORY'] === 'memory'
      ? load('CLIENTS_FILE', jsonReader(readClientsFile))
      : success(undefined);
  const algorithm = readTokenAlgorithm(environment['TOKEN_SIGNING_ALG']) ?? 'RS256';
  const readKey = (text: string) => readKeyFile(text, algorithm);
  const keyFile = load('KEY_FILE', (text) => (text.trimStart().startsWith('{') ? jsonReader(readKey) : readKey)(text));
  const databaseUrl = load('DATABASE_URL_FILE', readDatabaseUrl);
  const reading: Reading = {
    environment,
    settings: settings.ok ? settings.value : undefined,
    clients: clients.ok ? (clients.value ?? []) : [],
    load,
  };
  const own = CAPABILITIES.map(({ name, read }) => ({ name, read: read?.(reading) ?? success(undefined) }));
  const ownProblems = own.flatMap(({ read }) => (read.ok ? [] : read.problem));
  if (settings.ok && clients.ok && keyFile.ok && databaseUrl.ok && ownProblems.length === 0) {
    const { DATABASE_URL = databaseUrl.value } = settings.value;
    const problems =
      DATABASE_URL === undefined ? [] : databaseFileProblems(DATABASE_URL.reveal(), environment, readTextFile);
    if (problems.length > 0) return failure(problems);
    return success({
      settings: Object.freeze({ ...settings.value, DATABASE_URL }),
      clients: clients.value ?? [],
      keyFile: keyFile.value,
      httpTimeouts: HTTP_TIMEOUTS,
      own: new Map(own.map(({ name, read }) => [name, read.ok ? read.value : undefined])),
    });
  }
  const loaded = [settings, clients, keyFile, databaseUrl];
  return failure([...loaded.flatMap((part) => (part.ok ? [] : part.problem)), ...ownProblems]);
}
