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
import { verifiedMethods } from './verified-methods.ts';

/**
 * Reads the environment and the files that it names. Fails with every problem of all of them, by name, without a value.
 */
export function loadConfiguration(
  environment: Environment,
  readTextFile: ReadTextFile,
): Result<Configuration, readonly Problem[]> {
  const problems: Problem[] = [];
  /** What was read; undefined if it has problems, which are kept. */
  function take<Value>(read: Result<Value, readonly Problem[]>): Value | undefined {
    if (!read.ok) problems.push(...read.problem);
    return read.ok ? read.value : undefined;
  }
  /** What the file of a setting holds; undefined where the setting is absent. */
  function load<Value>(name: string, parse: (text: string) => Result<Value, readonly string[]>): Value | undefined {
    const path = environment[name];
    if (!path || invisibleEnd(path) !== undefined) return undefined;
    const text = readTextFile(path);
    const parsed = text.ok ? parse(text.value) : failure([text.problem]);
    return take(parsed.ok ? parsed : failure(parsed.problem.map((problem) => settingProblem(name, problem))));
  }
  const settings = take(readSettings(environment));
  const read = secretSources(environment, readTextFile);
  const readClients = jsonReader((json) => readClientsFile(json, { plain: 'accepted', read }));
  const clients = environment['CLIENT_REPOSITORY'] === 'memory' ? load('CLIENTS_FILE', readClients) : undefined;
  const algorithm = readTokenAlgorithm(environment['TOKEN_SIGNING_ALG']) ?? 'RS256';
  const readKey = (text: string) => readKeyFile(text, algorithm);
  const keyFile = load('KEY_FILE', (text) => (text.trimStart().startsWith('{') ? jsonReader(readKey) : readKey)(text));
  const urlInFile = load('DATABASE_URL_FILE', readDatabaseUrl);
  const keySecrets = load('KEY_SECRET_FILE', readKeySecrets);
  const issuersFile = load('CLIENT_ASSERTION_ISSUERS_FILE', jsonReader(readIssuersFile));
  const tokenInFile = load('MANAGEMENT_TOKEN_FILE', readManagementToken);
  const [chain, key] = [load('TLS_CERT_FILE', success), load('TLS_KEY_FILE', success)];
  const certificate = chain === undefined || key === undefined ? undefined : take(certificateOf(chain, key));
  if (settings === undefined || problems.length > 0) return failure(problems);

  const { DATABASE_URL = urlInFile, MANAGEMENT_TOKEN: managementToken = tokenInFile, TOKEN_ISSUER } = settings;
  const issuers = (issuersFile ?? []).map(({ audience = TOKEN_ISSUER, ...issuer }) => ({ audience, ...issuer }));
  if (verifiedMethods(settings).includes('federated_jwt')) problems.push(...problemsOfRules(clients ?? [], issuers));
  if (DATABASE_URL) problems.push(...databaseFileProblems(DATABASE_URL.reveal(), environment, readTextFile));
  if (problems.length > 0) return failure(problems);
  return success({
    settings: Object.freeze({ ...settings, DATABASE_URL }),
    ...{ clients: clients ?? [], keyFile, keySecrets: keySecrets ?? [], issuers, managementToken, certificate },
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
  return clients.flatMap(({ clientId, details }, position) =>
    (details?.federated_subjects ?? []).flatMap((rule, index) => {
      const problem = trusted.problemOf(rule);
      const text = `entry ${position}: client ${clientId}: federated_subjects entry ${index} ${problem}`;
      return problem === undefined ? [] : [settingProblem('CLIENTS_FILE', text)];
    }),
  );
}
