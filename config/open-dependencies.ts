import type { Logger } from 'pino';
import type { DependencyContainer } from 'tsyringe';
import { createStateLog } from '../adapters/log/state-log.ts';
import { KeyRotationTimer } from '../adapters/system/key-rotation-timer.ts';
import { readTextFileNow } from '../adapters/system/read-text-file.ts';
import type { Dependency } from '../application/ports/health-check.ts';
import type { PoolLoad } from '../application/ports/telemetry.ts';
import { PARTS, type ProcessRole } from './parts.ts';
import { followDatabaseUrl } from './settings/database-url.ts';
import type { Settings } from './settings/settings.ts';

/**
 * Opens what a process of this role depends on, in order: the PostgreSQL adapters, unless the container has an adapter in
 * memory, the rotation of keys, which does not start yet, and the key sets of trusted issuers. Rejects, with nothing left open, if one of them cannot be used at all.
 */
export async function openDependencies(
  container: DependencyContainer,
  settings: Settings,
  role: ProcessRole,
): Promise<readonly Dependency[]> {
  const { DATABASE_POOL_SIZE: poolSize, KEY_PUBLICATION_SECONDS: publicationSeconds } = settings;
  const log = container.resolve(PARTS.log);
  const connection = () => ({
    ...connectionOptions(settings, log),
    measure: (use: string, pool: () => PoolLoad) => container.resolve(PARTS.processMetrics).measureDatabase(use, pool),
  });
  const opened: Dependency[] = [];
  try {
    if (role !== 'primary' && !container.isRegistered(PARTS.clientRepository)) {
      const { openClientRepository } = await loadPostgres();
      const options = { ...connection(), poolSize };
      const { CLIENT_AUTHENTICATION_METHODS: methods } = settings;
      const clients = await openClientRepository(options, createStateLog(log), methods);
      const { adapter, expiring, dependency } = clients;
      opened.push(dependency);
      container.registerInstance(PARTS.clientRepository, adapter);
      container.registerInstance(PARTS.clientResources, clients.resources);
      container.registerInstance(PARTS.clientKeys, clients.clientKeys);
      container.registerInstance(PARTS.federatedClients, clients.federatedClients);
      container.registerInstance(PARTS.expiringCredentials, expiring);
      const verifier = container.resolve(PARTS.bcryptVerifier);
      await clients.readCosts((found) => {
        for (const cost of found) verifier.includeCost(cost);
      });
    }
    if (role !== 'worker' && !container.isRegistered(PARTS.keyDirectory)) {
      const { openKeyDirectory } = await loadPostgres();
      const keyLog = createStateLog(log.child({ dependency: 'key directory' }));
      const { adapter, replicas, dependency } = await openKeyDirectory(connection(), keyLog);
      opened.push(dependency);
      container.registerInstance(PARTS.keyDirectory, adapter);
      container.registerInstance(PARTS.replicaRegister, replicas);
    }
    const replaysMatter = settings.CLIENT_AUTHENTICATION_METHODS.includes('private_key_jwt');
    if (role !== 'worker' && replaysMatter && !container.isRegistered(PARTS.usedAssertionsStore)) {
      const { openUsedAssertions } = await loadPostgres();
      const usesLog = createStateLog(log.child({ dependency: 'used assertions' }));
      const { adapter, dependency } = await openUsedAssertions(connection(), container.resolve(PARTS.clock), usesLog);
      opened.push(dependency);
      container.registerInstance(PARTS.usedAssertionsStore, adapter);
    }
    if (role !== 'worker') {
      const options = { publicationSeconds, log: createStateLog(log) };
      const keyRotation = new KeyRotationTimer(container.resolve(PARTS.keyRing), options);
      opened.push(keyRotation);
      container.registerInstance(PARTS.keyRotation, keyRotation);
    }
    if (role !== 'worker' && settings.CLIENT_AUTHENTICATION_METHODS.includes('federated_jwt')) {
      const issuerKeySets = container.resolve(PARTS.issuerKeySets);
      opened.push(issuerKeySets);
    }
    return opened;
  } catch (problem) {
    for (const dependency of opened.toReversed()) await dependency.close();
    await container.resolve(PARTS.auditOutput).close();
    throw problem;
  }
}

/** The ORM is loaded only where it is used: it doubles the time until a service in memory answers. */
function loadPostgres() {
  return import('../adapters/postgres/open-adapters.ts');
}

function connectionOptions(settings: Settings, log: Logger) {
  const { DATABASE_URL, DATABASE_URL_FILE: path, DATABASE_DEADLINE_MS: deadlineMs } = settings;
  if (DATABASE_URL === undefined) throw new Error('DATABASE_URL: is required');
  const url = DATABASE_URL.reveal();
  const onProblem = (problem: string) => log.warn({ event: 'database_url_file_unusable', problem });
  return { url: path === undefined ? url : followDatabaseUrl(path, url, readTextFileNow, onProblem), deadlineMs };
}
