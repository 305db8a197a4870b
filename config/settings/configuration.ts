import { HTTP_TIMEOUTS, type HttpTimeouts } from '../../adapters/http/server/http-server.ts';
import { type KeyFile, readKeyFile } from '../../adapters/jwt/read-key-file.ts';
import { readClientsFile } from '../../adapters/memory/clients-file.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { readDatabaseUrl } from './database-url.ts';
import type { Environment } from './read-environment.ts';
import { readSettings, type Settings } from './settings.ts';

/** Everything that the service needs to know before it starts. */
export interface Configuration {
  readonly settings: Settings;
  /** The registrations of the in-memory repository; none if they are in a database. */
  readonly clients: readonly NewClient[];
  /** The signing key of KEY_FILE; undefined if keys are generated in memory. */
  readonly keyFile: KeyFile | undefined;
  readonly httpTimeouts: HttpTimeouts;
}

/** Reads a text file, or returns undefined where it cannot be read. */
export type ReadTextFile = (path: string) => string | undefined;

/** Reads the environment and the files that it names. Fails with every problem of all of them, by name, without a value. */
export function loadConfiguration(
  environment: Environment,
  readTextFile: ReadTextFile,
): Result<Configuration, readonly string[]> {
  /** What the file of a setting holds; undefined where the setting is absent. */
  function load<Value>(name: string, parse: (text: string) => Result<Value, readonly string[]>) {
    const path = environment[name];
    if (!path) return success(undefined);
    const text = readTextFile(path);
    const parsed = text === undefined ? failure(['cannot be read']) : parse(text);
    return parsed.ok ? parsed : failure(parsed.problem.map((problem) => `${name}: ${problem}`));
  }
  const settings = readSettings(environment);
  const clients =
    environment['CLIENT_REPOSITORY'] === 'memory' ? load('CLIENTS_FILE', readClientsFile) : success(undefined);
  const keyFile = load('KEY_FILE', readKeyFile);
  const databaseUrl = load('DATABASE_URL_FILE', readDatabaseUrl);
  if (settings.ok && clients.ok && keyFile.ok && databaseUrl.ok) {
    const { DATABASE_URL = databaseUrl.value } = settings.value;
    const files = { clients: clients.value ?? [], keyFile: keyFile.value };
    const known = Object.freeze({ ...settings.value, DATABASE_URL });
    return success({ settings: known, ...files, httpTimeouts: HTTP_TIMEOUTS });
  }
  return failure([settings, clients, keyFile, databaseUrl].flatMap((loaded) => (loaded.ok ? [] : loaded.problem)));
}
