import { readClientsFile } from '../../adapters/files/clients-file.ts';
import { jsonReader } from '../../adapters/files/json-fault.ts';
import { HTTP_TIMEOUTS, type HttpTimeouts } from '../../adapters/http/server/http-server.ts';
import type { IssuerSource } from '../../adapters/jwks-client/federated-jwt/fetch-issuer-keys.ts';
import { readIssuersFile } from '../../adapters/jwks-client/federated-jwt/read-issuers-file.ts';
import { type KeyFile, readKeyFile } from '../../adapters/jwt/read-key-file.ts';
import type { ReadTextFile } from '../../adapters/system/read-text-file.ts';
import type { TracingOptions } from '../../adapters/tracing/tracing-options.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { type TrustedIssuer, TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { databaseFileProblems, readDatabaseUrl } from './database-url.ts';
import { readManagementToken } from './management-token.ts';
import type { Environment } from './read-environment.ts';
import { readSettings, type Settings } from './settings.ts';
import { readTracingSettings } from './tracing-settings.ts';

/** Everything that the service needs to know before it starts. */
export interface Configuration {
  readonly settings: Settings;
  /** The registrations of the in-memory repository; none if they are in a database. */
  readonly clients: readonly NewClient[];
  /** The signing key of KEY_FILE; undefined if keys are generated in memory. */
  readonly keyFile: KeyFile | undefined;
  /** The issuers of CLIENT_ASSERTION_ISSUERS_FILE, with their keys or where to fetch them. */
  readonly issuers: readonly ConfiguredIssuer[];
  readonly httpTimeouts: HttpTimeouts;
  /** Undefined if requests are not traced. */
  readonly tracing?: TracingOptions | undefined;
}

/** A trusted issuer and the source of its keys. */
export type ConfiguredIssuer = TrustedIssuer & Pick<IssuerSource, 'source'>;

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
    const parsed = text.ok ? parse(text.value) : failure([text.problem]);
    return parsed.ok ? parsed : failure(parsed.problem.map((problem) => `${name}: ${problem}`));
  }
  const settings = readSettings(environment);
  const tracing = readTracingSettings(environment);
  const clients =
    environment['CLIENT_REPOSITORY'] === 'memory'
      ? load('CLIENTS_FILE', jsonReader(readClientsFile))
      : success(undefined);
  const keyFile = load('KEY_FILE', (text) =>
    (text.trimStart().startsWith('{') ? jsonReader(readKeyFile) : readKeyFile)(text),
  );
  const databaseUrl = load('DATABASE_URL_FILE', readDatabaseUrl);
  const managementToken = load('MANAGEMENT_TOKEN_FILE', readManagementToken);
  const issuersFile = load('CLIENT_ASSERTION_ISSUERS_FILE', jsonReader(readIssuersFile));
  if (settings.ok && clients.ok && keyFile.ok && databaseUrl.ok && managementToken.ok && issuersFile.ok && tracing.ok) {
    const { DATABASE_URL = databaseUrl.value, TOKEN_ISSUER, CLIENT_AUTHENTICATION_METHODS: methods } = settings.value;
    const { MANAGEMENT_TOKEN = managementToken.value } = settings.value;
    const issuers = (issuersFile.value ?? []).map(({ audience = TOKEN_ISSUER, ...issuer }) => ({
      audience,
      ...issuer,
    }));
    const files = { clients: clients.value ?? [], keyFile: keyFile.value, issuers };
    const ofRules = methods.includes('federated_jwt') ? problemsOfRules(files) : [];
    const ofUrl =
      DATABASE_URL === undefined ? [] : databaseFileProblems(DATABASE_URL.reveal(), environment, readTextFile);
    const problems = [...ofRules.map((problem) => `CLIENTS_FILE: ${problem}`), ...ofUrl];
    if (problems.length > 0) return failure(problems);
    const known = Object.freeze({ ...settings.value, DATABASE_URL, MANAGEMENT_TOKEN });
    return success({ settings: known, ...files, httpTimeouts: HTTP_TIMEOUTS, tracing: tracing.value });
  }
  const loaded = [settings, clients, keyFile, databaseUrl, managementToken, issuersFile, tracing];
  return failure(loaded.flatMap((part) => (part.ok ? [] : part.problem)));
}

/** The rules that no assertion can match, or that are too weak for the platform of their issuer. */
function problemsOfRules({ clients, issuers }: Pick<Configuration, 'clients' | 'issuers'>): readonly string[] {
  const trusted = new TrustedIssuers(issuers);
  return clients.flatMap(({ details }, position) =>
    (details?.subjects ?? []).flatMap((rule, index) => {
      const problem = trusted.problemOf(rule);
      return problem === undefined ? [] : [`entry ${position}: federated_subjects entry ${index} ${problem}`];
    }),
  );
}
