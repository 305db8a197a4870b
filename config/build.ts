import type { HttpServer } from '../adapters/http/server/http-server.ts';
import type { Route } from '../adapters/http/server/koa-application.ts';
import type { RequestServer } from '../adapters/http/server/running-server.ts';
import type { Lines } from '../adapters/log/line-writer.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import { type Core, createCore, give, PARTS, registerParts } from './container.ts';
import { auditOutput } from './core/audit-output.ts';
import { clientAssertions } from './core/client-assertions.ts';
import { clientSecrets } from './core/client-secrets.ts';
import { measureHealth } from './core/health.ts';
import {
  type CreateServer,
  managementRoutesOf,
  managementServer,
  publicRoutesOf,
  publicServer,
} from './core/servers.ts';
import { signingKeys } from './core/signing-keys.ts';
import { storage } from './core/storage.ts';
import { closeFeatures, type Feature } from './feature.ts';
import { adminApi } from './features/admin-api.ts';
import { exampleResource } from './features/example-resource.ts';
import { federatedJwt } from './features/federated-jwt.ts';
import { keyDirectory } from './features/key-directory.ts';
import { lastUsed } from './features/last-used.ts';
import { onePort } from './features/one-port.ts';
import { privateKeyJwt } from './features/private-key-jwt.ts';
import { statusPage } from './features/status-page.ts';
import { tls } from './features/tls.ts';
import { revocations, tokenRevocation } from './features/token-revocation.ts';
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
  /** Of the public port. */
  readonly routes: readonly Route[];
  /** Of `/readyz`. */
  readonly checks: () => readonly HealthCheck[];
  /** In the order in which they were opened. They are closed in reverse. */
  readonly features: readonly Feature[];
}

/**
 * The composition root: what the service consists of, one after the other. Rejects, with nothing left open, if
 * something that it depends on cannot be used at all.
 */
export async function buildService(configuration: Configuration, given: Given = {}): Promise<Service> {
  const { settings } = configuration;
  const { core = createCore() } = given;
  const features: Feature[] = [];
  const add = <Added extends Feature | undefined>(feature: Added): Added => {
    if (feature !== undefined) features.push(feature);
    if (feature?.metrics !== undefined) core.resolve(PARTS.processMetrics).add(feature.metrics);
    return feature;
  };
  const checks = () => [
    core.resolve(PARTS.lifecycle),
    core.resolve(PARTS.logDestination),
    ...features.flatMap((feature) => feature.checks ?? []),
  ];
  try {
    registerParts(core, configuration, given.lines);
    add({ metrics: measureHealth(checks) });
    add(auditOutput(core));
    add(await storage(configuration, core));
    const bySecret = add(await clientSecrets(configuration, core)).method;
    const directory = add(await keyDirectory(configuration, core));
    give(core, PARTS.keyDirectory, directory);
    const keys = add(signingKeys(settings, core, directory));
    add(clientAssertions(settings, core));
    const byKey = add(await privateKeyJwt(configuration, core));
    const federated_jwt = add(federatedJwt(configuration, core))?.method;
    give(core, PARTS.strategies, {
      client: {
        client_secret_post: bySecret,
        client_secret_basic: bySecret,
        private_key_jwt: byKey?.method,
        federated_jwt,
      },
      grant: { private_key_jwt: byKey?.grant, federated_jwt },
    });
    add(await revocations(configuration, core));
    add(tokenRevocation(settings, core));
    add(await adminApi(configuration, core));
    add(await lastUsed(configuration, core));
    add(exampleResource(settings));
    add(tls(configuration, core));
    add(statusPage(configuration, core, checks, keys));
    const managementRoutes = managementRoutesOf(core, checks, keys, features);
    add(onePort(settings, managementRoutes));
    for (const feature of given.features ?? []) add(feature);

    const routes = publicRoutesOf(core, settings, features);
    const hasManagement = settings.MANAGEMENT_PORT !== 0;
    return {
      core,
      features,
      checks,
      routes,
      publicServer: publicServer(core, configuration, routes, features, given.createServer),
      managementServer: hasManagement ? managementServer(core, configuration, managementRoutes) : undefined,
    };
  } catch (problem) {
    await closeFeatures(features);
    throw problem;
  }
}
