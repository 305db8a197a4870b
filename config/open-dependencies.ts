import type { DependencyContainer, InjectionToken } from 'tsyringe';
import { createDatabaseLog } from './database-log.ts';
import type { Dependency } from './dependency.ts';
import { KeyRotation } from './key-rotation.ts';
import type { Settings } from './settings/settings.ts';
import { TOKENS } from './tokens.ts';

/** What a process of the service does: look up clients and answer requests, or keep the keys. One alone does both. */
export type Duty = 'clients' | 'keys';

/**
 * Opens what stands outside of this process and puts it in its place, in the order in which one needs the other; what
 * is in its place already is left there. Rejects, with nothing left open, where something cannot be used at all.
 */
export async function openDependencies(
  container: DependencyContainer,
  settings: Settings,
  duties: readonly Duty[],
): Promise<readonly Dependency[]> {
  const opened: Dependency[] = [];
  const isMissing = (duty: Duty, part: InjectionToken) => duties.includes(duty) && !container.isRegistered(part);
  try {
    if (isMissing('clients', TOKENS.clientRepository)) opened.push(await openClients(container, settings));
    if (isMissing('keys', TOKENS.keyDirectory)) opened.push(await openKeys(container, settings));
    if (duties.includes('keys')) opened.push(await startRotation(container, settings));
    return opened;
  } catch (problem) {
    for (const dependency of opened.toReversed()) await dependency.close();
    throw problem;
  }
}

// The ORM is loaded only where it is used: it doubles the time until a service in memory answers.

async function openClients(container: DependencyContainer, settings: Settings): Promise<Dependency> {
  const { openPostgresClients } = await import('./postgres-clients.ts');
  const clients = await openPostgresClients(settings, createDatabaseLog(container.resolve(TOKENS.log)));
  container.registerInstance(TOKENS.clientRepository, clients);
  return clients;
}

async function openKeys(container: DependencyContainer, settings: Settings): Promise<Dependency> {
  const { openPostgresKeys } = await import('./postgres-keys.ts');
  const log = container.resolve(TOKENS.log).child({ dependency: 'key directory' });
  const { directory, dependency } = await openPostgresKeys(settings, createDatabaseLog(log));
  container.registerInstance(TOKENS.keyDirectory, directory);
  return dependency;
}

function startRotation(container: DependencyContainer, settings: Settings): Promise<Dependency> {
  const ring = container.resolve(TOKENS.keyRing);
  const onAdvanced = container.resolve(TOKENS.onKeysAdvanced);
  return KeyRotation.start(ring, settings.KEY_PUBLICATION_SECONDS, container.resolve(TOKENS.log), onAdvanced);
}
