import 'reflect-metadata';
import { type DependencyContainer, container as root } from 'tsyringe';
import { jsonAuditLog } from '../adapters/log/json-audit-log.ts';
import { createJsonLog, openLogLines } from '../adapters/log/json-log.ts';
import { createStateLog } from '../adapters/log/state-log.ts';
import { KeyRotationTimer } from '../adapters/system/key-rotation-timer.ts';
import { RandomIdGenerator, SystemClock, SystemMonotonicClock } from '../adapters/system/system.ts';
import type { Dependency } from '../application/ports/health-check.ts';
import type { ObservedPorts } from '../application/ports/observed-ports.ts';
import { CAPABILITIES } from './capabilities.ts';
import type { Override, Service } from './capability.ts';
import { registerClientParts } from './core/client-parts.ts';
import { measureService } from './core/measurements.ts';
import { registerServerParts } from './core/server-parts.ts';
import { registerTokenParts } from './core/token-parts.ts';
import { openAudit } from './open-audit.ts';
import { LISTS, PARTS } from './parts.ts';
import { createPoolWorks } from './pool-work.ts';
import { type Get, getFrom, part } from './registration.ts';
import type { Configuration } from './settings/configuration.ts';
import { databaseOptions, STORAGES } from './storages.ts';

const same = <Port>(port: Port): Port => port;

/** The ports as they are. */
const UNOBSERVED: ObservedPorts = {
  clients: same,
  slots: same,
  secrets: same,
  assertions: same,
  tokens: same,
  signer: same,
};

/**
 * The composition root: the core, then the capabilities. Every part is created once, when it is first needed. Resolves when
 * the dependencies are open. Rejects, with nothing left open, if one of them cannot be used at all.
 */
export async function buildContainer(
  configuration: Configuration,
  override: Override = () => {},
): Promise<DependencyContainer> {
  const service: Service = { configuration, settings: configuration.settings };
  const registered = root.createChildContainer();
  registerSurroundings(registered, service);
  registerClientParts(registered, service);
  registerTokenParts(registered, service);
  registerServerParts(registered, service);
  for (const { name, register } of CAPABILITIES) await register?.(registered, service, configuration.own.get(name));

  // What is replaced hides what is registered, whatever comes first.
  const container = registered.createChildContainer();
  override(container);
  const get = getFrom(container);
  for (const measure of [measureService(get, service.settings), ...get.all(LISTS.measurements)]) {
    get(PARTS.processMetrics).add(measure);
  }
  container.registerInstance(PARTS.dependencies, await openDependencies(container, service));
  return container;
}

/** What every part may need: log, clocks, ids, and the audit log. */
function registerSurroundings(parts: DependencyContainer, { settings }: Service): void {
  part(parts, PARTS.logDestination, () => openLogLines());
  part(parts, PARTS.log, (get) => createJsonLog(get(PARTS.logDestination), get.optional(PARTS.logMembers)));
  part(parts, PARTS.observe, (get) => get.optional(PARTS.observedPorts) ?? UNOBSERVED);
  part(parts, PARTS.clock, () => new SystemClock());
  part(parts, PARTS.monotonicClock, () => new SystemMonotonicClock());
  part(parts, PARTS.ids, () => new RandomIdGenerator());
  part(parts, PARTS.poolWorks, createPoolWorks);
  part(parts, PARTS.auditOutput, (get) => {
    const onChange = createStateLog(get(PARTS.log));
    return openAudit(settings, { log: get(PARTS.logDestination), clock: get(PARTS.clock), onChange });
  });
  part(parts, PARTS.auditLog, (get) => jsonAuditLog(get(PARTS.auditOutput).lines));
}

/** In order: the storage, what capabilities open, the rotation of keys, which does not start yet, and what need not be opened. */
async function openDependencies(container: DependencyContainer, service: Service): Promise<readonly Dependency[]> {
  const get = getFrom(container);
  const opened: Dependency[] = [];
  try {
    const storage = await openStorage(get, service);
    container.registerInstance(PARTS.storage, storage);
    if (storage.dependency !== undefined) opened.push(storage.dependency);
    await storage.readCosts?.((costs) => get(PARTS.bcryptVerifier).useCosts(costs));
    for (const open of get.all(LISTS.openers)) opened.push(await open(container));
    const { KEY_PUBLICATION_SECONDS: publicationSeconds } = service.settings;
    const options = { publicationSeconds, log: createStateLog(get(PARTS.log)) };
    const keyRotation = new KeyRotationTimer(get(PARTS.keyRing), options);
    opened.push(keyRotation);
    container.registerInstance(PARTS.keyRotation, keyRotation);
    return [...opened, ...get.all(LISTS.dependencies)];
  } catch (problem) {
    for (const dependency of opened.toReversed()) await dependency.close();
    await get(PARTS.auditOutput).close();
    throw problem;
  }
}

function openStorage(get: Get, { configuration, settings }: Service) {
  return STORAGES[settings.CLIENT_REPOSITORY]({
    configuration,
    clock: get(PARTS.clock),
    ids: get(PARTS.ids),
    log: createStateLog(get(PARTS.log)),
    database: databaseOptions(settings, get(PARTS.log), get(PARTS.processMetrics)),
  });
}
