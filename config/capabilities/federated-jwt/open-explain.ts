import { resolve } from 'node:path';
import type { OpenExplanation } from '../../../adapters/cli/federated-jwt/explain-command.ts';
import { fetchIssuerKeys, KEY_SET_TIMEOUT_MS } from '../../../adapters/http-client/federated-jwt/fetch-issuer-keys.ts';
import { NodeCryptoAssertionVerifier } from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { InMemoryFederatedClients } from '../../../adapters/memory/federated-jwt/in-memory-federated-clients.ts';
import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { readTextFile } from '../../../adapters/system/read-text-file.ts';
import { RandomIdGenerator, SystemClock } from '../../../adapters/system/system.ts';
import { ExplainAssertion } from '../../../application/federated-jwt/explain-assertion.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { FederatedClients } from '../../../application/ports/federated-clients.ts';
import { TrustedIssuers } from '../../../domain/federated-jwt/trusted-issuers.ts';
import { type Result, success } from '../../../domain/result.ts';
import type { Configuration } from '../../settings/configuration.ts';
import { loadConfiguration } from '../../settings/load-configuration.ts';
import type { Environment } from '../../settings/read-environment.ts';
import { federationOf, loadFederatedClients } from '../federated-jwt.ts';

/**
 * Opens the explanation of assertions with the settings of the service. The method counts as switched on, and without a
 * clients file the registrations are in the database.
 */
export async function openExplain(environment: Environment): Promise<Result<OpenExplanation, readonly string[]>> {
  const { CLIENTS_FILE, DATABASE_FILE } = environment;
  const loaded = loadConfiguration(
    {
      ...environment,
      CLIENT_REPOSITORY:
        environment['CLIENT_REPOSITORY'] || (CLIENTS_FILE ? 'memory' : DATABASE_FILE ? 'sqlite' : 'postgres'),
      CLIENT_AUTHENTICATION_METHODS: 'federated_jwt',
    },
    readTextFile,
  );
  if (!loaded.ok) return loaded;
  const { issuers, maxAgeSeconds } = federationOf(loaded.value);
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
    maxAgeSeconds,
  });
  return success({ execute: (credentials) => explain.execute(credentials), close });
}

async function openRules({ settings, clients }: Configuration): Promise<{
  readonly clients: FederatedClients;
  close(): Promise<void>;
}> {
  const { DATABASE_FILE, DATABASE_URL, DATABASE_DEADLINE_MS: deadlineMs } = settings;
  if (settings.CLIENT_REPOSITORY === 'sqlite' && DATABASE_FILE !== undefined) {
    const { FileReader } = await import('../../../adapters/sqlite/file-reader.ts');
    const { SqliteFederatedClients } = await import(
      '../../../adapters/sqlite/federated-jwt/sqlite-federated-clients.ts'
    );
    try {
      const file = await FileReader.open(resolve(DATABASE_FILE), () => {});
      return { clients: new SqliteFederatedClients(file, () => {}), close: () => file.close() };
    } catch (fault) {
      throw new DependencyUnavailable('client repository', fault);
    }
  }
  if (settings.CLIENT_REPOSITORY === 'memory' || DATABASE_URL === undefined) {
    const repository = new InMemoryClientRepository(new RandomIdGenerator(), new SystemClock(), clients);
    return { clients: new InMemoryFederatedClients(repository, clients), close: async () => {} };
  }
  const { openClientRepository } = await import('../../../adapters/postgres/open-client-repository.ts');
  const { CLIENT_SUBJECTS, PostgresFederatedClients } = await loadFederatedClients();
  const options = { url: DATABASE_URL.reveal(), poolSize: 1, deadlineMs };
  try {
    const { runnerOf, dependency } = await openClientRepository(options, () => {}, [CLIENT_SUBJECTS]);
    const rules = new PostgresFederatedClients(runnerOf(CLIENT_SUBJECTS), () => {});
    return { clients: rules, close: () => dependency.close() };
  } catch (fault) {
    throw new DependencyUnavailable('client repository', fault);
  }
}
