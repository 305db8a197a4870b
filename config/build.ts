import type { HttpServer } from '../adapters/http/server/http-server.ts';
import type { RequestServer } from '../adapters/http/server/running-server.ts';
import type { Lines } from '../adapters/log/line-writer.ts';
import { followStoredCosts, registerAuthentication, registerClientParts } from './core/client-parts.ts';
import { measureService } from './core/measurements.ts';
import { auditOutput, registerPorts, storage } from './core/ports.ts';
import {
  type CreateServer,
  managementRoutesOf,
  managementServer,
  publicServer,
  registerAdmission,
} from './core/server-parts.ts';
import { registerKeyFactory, registerUseCases, signingKeys } from './core/token-parts.ts';
import { closeFeatures, type Feature } from './feature.ts';
import { exampleResource } from './features/example-resource.ts';
import { federatedJwt } from './features/federated-jwt.ts';
import { keyDirectory } from './features/key-directory.ts';
import { onePort } from './features/one-port.ts';
import { privateKeyJwt } from './features/private-key-jwt.ts';
import { proxyProtocol } from './features/proxy-protocol.ts';
import { statusPage } from './features/status-page.ts';
import { tls } from './features/tls.ts';
import { tokenReuse } from './features/token-reuse.ts';
import { type Core, createCore, PARTS } from './parts.ts';
import type { Configuration } from './settings/configuration.ts';

/** What is given in place of what the service has by itself. */
export interface Given {
  /** A container of its own. What is registered there already stays: a test registers what it replaces. */
  readonly core?: Core;
  /** Where the lines of the log go. */
  readonly lines?: Lines | undefined;
  /** Makes what answers requests, in place of a server on a port. */
  readonly createServer?: CreateServer;
  /** Further parts of the service. */
  readonly features?: readonly Feature[];
}

/** A service whose ports are not open yet. */
export interface Service {
  readonly core: Core;
  readonly publicServer: RequestServer;
  readonly managementServer: HttpServer | undefined;
  /** In the order in which they were opened. They are closed in reverse. */
  readonly features: readonly Feature[];
}

/**
 * The composition root: what the service consists of, one after the other. Rejects, with nothing left open, if something that it
 * depends on cannot be used at all.
 */
export async function buildService(configuration: Configuration, given: Given = {}): Promise<Service> {
  const { settings } = configuration;
  const { core = createCore() } = given;
  const features: Feature[] = [];
  const add = <Added extends Feature | undefined>(feature: Added): Added => {
    if (feature !== undefined) features.push(feature);
    return feature;
  };
  try {
    registerPorts(core, settings, given.lines);
    registerAdmission(core);
    registerKeyFactory(core, configuration);
    registerClientParts(core, configuration);
    add(auditOutput(core));
    add(await storage(configuration, core));
    await followStoredCosts(core);
    const directory = add(await keyDirectory(configuration, core));
    add(signingKeys(settings, core, directory));
    const byKey = add(await privateKeyJwt(settings, core));
    const byIdentity = add(federatedJwt(configuration, core));
    registerAuthentication(core, settings, { byKey: byKey?.method, byIdentity: byIdentity?.method });
    registerUseCases(core, settings, add(tokenReuse(settings, core))?.tokens);
    add(exampleResource(settings));
    add(proxyProtocol(settings, core));
    add(await tls(configuration, core));
    registerHealth(core, features);
    add(statusPage(configuration, core));
    const management = managementRoutesOf(core, features);
    add(onePort(settings, management));
    for (const feature of given.features ?? []) add(feature);

    const metrics = core.resolve(PARTS.processMetrics);
    for (const measure of [measureService(core, settings), ...features.flatMap((one) => one.metrics ?? [])])
      metrics.add(measure);
    return {
      core,
      features,
      publicServer: publicServer(core, configuration, features, given.createServer),
      managementServer: settings.MANAGEMENT_PORT === 0 ? undefined : managementServer(core, configuration, management),
    };
  } catch (problem) {
    await closeFeatures(features);
    throw problem;
  }
}

/** What `/readyz` says, with what is added later. */
function registerHealth(core: Core, features: readonly Feature[]): void {
  core.registerInstance(PARTS.healthChecks, () => [
    core.resolve(PARTS.lifecycle),
    core.resolve(PARTS.logDestination),
    ...features.flatMap(({ checks = [] }) => checks),
  ]);
}
