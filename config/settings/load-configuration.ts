import { readClientsFile } from '../../adapters/files/clients-file.ts';
import { jsonReader } from '../../adapters/files/json-fault.ts';
import { HTTP_TIMEOUTS } from '../../adapters/http/server/http-server.ts';
import { readIssuersFile } from '../../adapters/http-client/federated-jwt/read-issuers-file.ts';
import { readKeySecrets } from '../../adapters/jwt/key-secrets.ts';
import { readKeyFile } from '../../adapters/jwt/read-key-file.ts';
import type { ReadTextFile } from '../../adapters/system/read-text-file.ts';
import { readServerCertificate, type ServerCertificate } from '../../adapters/tls/server-certificate.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import type { Problem } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { readTokenAlgorithm } from '../../domain/token-key.ts';
import type { Configuration, ConfiguredIssuer } from './configuration.ts';
import { databaseFileProblems, readDatabaseUrl } from './database-url.ts';
import { invisibleEnd } from './invisible-ends.ts';
import { readManagementToken } from './management-token.ts';
import type { Environment } from './read-environment.ts';
import { settingProblem } from './rules.ts';
import { secretSources } from './secret-sources.ts';
import { readSettings } from './settings.ts';

/**
 * Reads the environment and the files that it names. Fails with every problem of all of them, by name, without a value.
 */
export function loadConfiguration(
  environment: Environment,
  readTextFile: ReadTextFile,
): Result<Configuration, readonly Problem[]> {
  /** What the file of a setting holds; undefined where the setting is absent. */
  function load<Value>(name: string, parse: (text: string) => Result<Value, readonly string[]>) {
    const path = environment[name];
    if (!path || invisibleEnd(path) !== undefined) return success(undefined);
    const text = readTextFile(path);
    const parsed = text.ok ? parse(text.value) : failure([text.problem]);
    return parsed.ok ? parsed : failure(parsed.problem.map((problem) => settingProblem(name, problem)));
  }
  const settings = readSettings(environment);
  const read = secretSources(environment, readTextFile);
  const readClients = (json: string) => readClientsFile(json, { plain: 'accepted', read });
  const clients =
    environment['CLIENT_REPOSITORY'] === 'memory' ? load('CLIENTS_FILE', jsonReader(readClients)) : success(undefined);
  const algorithm = readTokenAlgorithm(environment['TOKEN_SIGNING_ALG']) ?? 'RS256';
  const readKey = (text: string) => readKeyFile(text, algorithm);
  const keyFile = load('KEY_FILE', (text) => (text.trimStart().startsWith('{') ? jsonReader(readKey) : readKey)(text));
  const databaseUrl = load('DATABASE_URL_FILE', readDatabaseUrl);
  const keySecrets = load('KEY_SECRET_FILE', readKeySecrets);
  const issuersFile = load('CLIENT_ASSERTION_ISSUERS_FILE', jsonReader(readIssuersFile));
  const managementToken = load('MANAGEMENT_TOKEN_FILE', readManagementToken);
  const [chain, key] = [load('TLS_CERT_FILE', success), load('TLS_KEY_FILE', success)];
  const certificate =
    chain.ok && key.ok && chain.value !== undefined && key.value !== undefined
      ? certificateOf(chain.value, key.value)
      : success(undefined);

  const files = [clients, keyFile, databaseUrl, keySecrets, issuersFile, managementToken, chain, key, certificate];
  const problems = [settings, ...files].flatMap((part) => (part.ok ? [] : part.problem));
  if (!settings.ok || !clients.ok || !keyFile.ok || !databaseUrl.ok || !keySecrets.ok) return failure(problems);
  if (!issuersFile.ok || !managementToken.ok || !certificate.ok || problems.length > 0) return failure(problems);

  const { DATABASE_URL = databaseUrl.value, MANAGEMENT_TOKEN = managementToken.value, TOKEN_ISSUER } = settings.value;
  const issuers = (issuersFile.value ?? []).map(({ audience = TOKEN_ISSUER, ...issuer }) => ({ audience, ...issuer }));
  const isFederated = settings.value.CLIENT_AUTHENTICATION_METHODS.includes('federated_jwt');
  const further = [
    ...(isFederated ? problemsOfRules(clients.value ?? [], issuers) : []),
    ...(DATABASE_URL === undefined ? [] : databaseFileProblems(DATABASE_URL.reveal(), environment, readTextFile)),
  ];
  if (further.length > 0) return failure(further);
  return success({
    settings: Object.freeze({ ...settings.value, DATABASE_URL }),
    clients: clients.value ?? [],
    keyFile: keyFile.value,
    keySecrets: keySecrets.value ?? [],
    issuers,
    managementToken: MANAGEMENT_TOKEN,
    certificate: certificate.value,
    httpTimeouts: HTTP_TIMEOUTS,
  });
}

function certificateOf(chain: string, key: string): Result<ServerCertificate, readonly Problem[]> {
  const read = readServerCertificate(chain, key);
  return read.ok ? read : failure(read.problem.map((text) => ({ code: 'TLS_CERT_FILE', text })));
}

/** The rules that no assertion can match, or that are too weak for the platform of their issuer. */
function problemsOfRules(clients: readonly NewClient[], issuers: readonly ConfiguredIssuer[]): readonly Problem[] {
  const trusted = new TrustedIssuers(issuers);
  return clients.flatMap(({ details }, position) =>
    (details?.subjects ?? []).flatMap((rule, index) => {
      const problem = trusted.problemOf(rule);
      return problem === undefined
        ? []
        : [settingProblem('CLIENTS_FILE', `entry ${position}: federated_subjects entry ${index} ${problem}`)];
    }),
  );
}
