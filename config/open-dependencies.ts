import type { DependencyContainer, InjectionToken } from 'tsyringe';
import { createStateLog } from '../adapters/pino/state-log.ts';
import { KeyRotationTimer } from '../adapters/system/key-rotation-timer.ts';
import type { Dependency } from '../application/ports/health-check.ts';
import { createDatabaseLog } from './database-log.ts';
import type { Settings } from './settings/settings.ts';
import { type ProcessRole, TOKENS } from './tokens.ts';

/**
 * Opens what a process of this role depends on, in order, except the parts that the container has already. Rejects, with
 * nothing left open, where one of them cannot be used at all.
 */
export async function openDependencies(
  container: DependencyContainer,
  settings: Settings,
  role: ProcessRole,
): Promise<readonly Dependency[]> {
  const opened: Dependency[] = [];
  const isMissing = (part: InjectionToken) => !container.isRegistered(part);
  try {
    if (role !== 'primary' && isMissing(TOKENS.clientRepository)) opened.push(await openClients(container, settings));
    if (role !== 'worker' && isMissing(TOKENS.keyDirectory)) opened.push(await openKeys(container, settings));
    if (role !== 'worker') opened.push(await startRotation(container, settings));
    return opened;
  } catch (problem) {
    for (const dependency of opened.toReversed()) await dependency.close();
    throw problem;
  }
}

// The ORM is loaded only where it is used: it doubles the time until a service in memory answers.

async function openClients(container: DependencyContainer, settings: Settings): Promise<Dependency> {
  const { openPostgresClients } = await import('./postgres.ts');
  const { adapter, dependency } = await openPostgresClients(settings, createDatabaseLog(container.resolve(TOKENS.log)));
  container.registerInstance(TOKENS.clientRepository, adapter);
  return dependency;
}

async function openKeys(container: DependencyContainer, settings: Settings): Promise<Dependency> {
  const { openPostgresKeys } = await import('./postgres.ts');
  const log = container.resolve(TOKENS.log).child({ dependency: 'key directory' });
  const { adapter, dependency } = await openPostgresKeys(settings, createDatabaseLog(log));
  container.registerInstance(TOKENS.keyDirectory, adapter);
  return dependency;
}

function startRotation(container: DependencyContainer, settings: Settings): Promise<Dependency> {
  const ring = container.resolve(TOKENS.keyRing);
  return KeyRotationTimer.start(ring, {
    publicationSeconds: settings.KEY_PUBLICATION_SECONDS,
    log: createStateLog(container.resolve(TOKENS.log)),
  });
}
