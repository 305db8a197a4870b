import { FEDERATED_ONLY, type OpenExplanation } from '../../adapters/cli/federated-jwt/explain-command.ts';
import { fetchIssuerKeys, KEY_SET_TIMEOUT_MS } from '../../adapters/http-client/federated-jwt/fetch-issuer-keys.ts';
import { NodeCryptoAssertionVerifier } from '../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { SystemClock } from '../../adapters/system/system.ts';
import { ExplainAssertion } from '../../application/federated-jwt/explain-assertion.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { inWords } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { portsToRead } from '../core/ports.ts';
import { needsOf } from '../core/storage.ts';
import type { Configuration } from '../settings/configuration.ts';
import { loadConfiguration } from '../settings/load-configuration.ts';
import type { Environment } from '../settings/read-environment.ts';
import { openStorage } from '../storages.ts';

/**
 * Opens the explanation of assertions with the settings of the service. The method counts as switched on, and without a
 * clients file the registrations are in the database.
 */
export async function openExplain(environment: Environment): Promise<Result<OpenExplanation, readonly string[]>> {
  const { CLIENTS_FILE, DATABASE_FILE, CLIENT_ASSERTION_ISSUERS_FILE: issuersFile } = environment;
  if (!issuersFile) return failure([`CLIENT_ASSERTION_ISSUERS_FILE: is not set. ${FEDERATED_ONLY}`]);
  const loaded = loadConfiguration(
    {
      ...environment,
      CLIENT_REPOSITORY:
        environment['CLIENT_REPOSITORY'] || (CLIENTS_FILE ? 'memory' : DATABASE_FILE ? 'sqlite' : 'postgres'),
      CLIENT_AUTHENTICATION_METHODS: 'federated_jwt',
    },
    readTextFile,
  );
  if (!loaded.ok) return failure(loaded.problem.map(inWords));
  const { issuers, settings } = loaded.value;
  const { clients, close } = await openRules(loaded.value);
  const explain = new ExplainAssertion({
    issuers: new TrustedIssuers(issuers),
    fetchKeys: async (name) => {
      const source = issuers.find(({ issuer }) => issuer === name);
      if (source === undefined) throw new Error('the issuer is not trusted');
      return fetchIssuerKeys(source, AbortSignal.timeout(KEY_SET_TIMEOUT_MS));
    },
    verifier: new NodeCryptoAssertionVerifier(),
    clients,
    clock: new SystemClock(),
    maxAgeSeconds: settings.CLIENT_ASSERTION_MAX_AGE_SECONDS,
  });
  return success({ execute: (credentials) => explain.execute(credentials), close });
}

/** The rules in the storage of these settings. Throws DependencyUnavailable if it cannot be used. */
async function openRules(configuration: Configuration) {
  try {
    const { openClients } = await openStorage(configuration.settings);
    const { clients, dependency } = await openClients(needsOf(configuration, portsToRead(configuration)));
    return { clients, close: async () => dependency?.close() };
  } catch (fault) {
    throw new DependencyUnavailable('client repository', fault);
  }
}
