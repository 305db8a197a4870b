import { HTTP_TIMEOUTS, type HttpTimeouts } from '../../adapters/http/server/http-server.ts';
import { type KeyFile, readKeyFile } from '../../adapters/jwt/read-key-file.ts';
import { readClientsFile } from '../../adapters/memory/clients-file.ts';
import type { ClientRegistrationFields } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import type { Environment } from './read-environment.ts';
import { readSettings, type Settings } from './settings.ts';

/** All that the service needs to know before it starts. */
export interface Configuration {
  readonly settings: Settings;
  /** The registrations of the in-memory repository; none where they stand in a database. */
  readonly clients: readonly Omit<ClientRegistrationFields, 'id'>[];
  /** The signing key of KEY_FILE; undefined where one is made in memory. */
  readonly keyFile: KeyFile | undefined;
  readonly httpTimeouts: HttpTimeouts;
}

/** Reads a text file, or answers undefined where it cannot be read. */
export type ReadTextFile = (path: string) => string | undefined;

/** Reads the environment and the files that it names. Answers every problem of all of them, by name, without a value. */
export function loadConfiguration(
  environment: Environment,
  readTextFile: ReadTextFile,
): Result<Configuration, readonly string[]> {
  const settings = readSettings(environment);
  const clients = loadClients(environment, readTextFile);
  const keyFile = loadKeyFile(environment, readTextFile);
  if (settings.ok && clients.ok && keyFile.ok) {
    return success({
      settings: settings.value,
      clients: clients.value,
      keyFile: keyFile.value,
      httpTimeouts: HTTP_TIMEOUTS,
    });
  }
  return failure([settings, clients, keyFile].flatMap((loaded) => (loaded.ok ? [] : loaded.problem)));
}

function loadClients(environment: Environment, readTextFile: ReadTextFile): ReturnType<typeof readClientsFile> {
  const path = environment['CLIENTS_FILE'];
  if (!path || environment['CLIENT_REPOSITORY'] !== 'memory') return success([]);
  const json = readTextFile(path);
  if (json === undefined) return failure(['CLIENTS_FILE: cannot be read']);
  const clients = readClientsFile(json);
  return clients.ok ? clients : failure(clients.problem.map((problem) => `CLIENTS_FILE: ${problem}`));
}

function loadKeyFile(
  environment: Environment,
  readTextFile: ReadTextFile,
): Result<KeyFile | undefined, readonly string[]> {
  const path = environment['KEY_FILE'];
  if (!path) return success(undefined);
  const text = readTextFile(path);
  if (text === undefined) return failure(['KEY_FILE: cannot be read']);
  const file = readKeyFile(text);
  return file.ok ? file : failure([`KEY_FILE: ${file.problem}`]);
}
