import type { Tls } from '../adapters/http/server/http-server.ts';
import type { Route } from '../adapters/http/server/koa-application.ts';
import type { Measure } from '../adapters/prom-client/metric-values.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { RequestCounter } from '../application/ports/telemetry.ts';

/** What a part of the service adds. The functions in `features/` return one, or undefined if no setting asks for it. */
export interface Feature {
  /** On the public port. */
  readonly routes?: readonly Route[];
  readonly managementRoutes?: readonly Route[];
  /** Of the public port. */
  readonly tls?: Tls;
  /** Gets the line of each request to the public port. */
  readonly counter?: RequestCounter;
  /** Of `/readyz`. */
  readonly checks?: readonly HealthCheck[];
  readonly metrics?: Measure;
  /** Resolves when the public port may open. */
  readonly prepare?: () => Promise<void>;
  /** Called once the keys are published. Must not throw. */
  readonly start?: () => void;
  /** Ends what requests wait for, such as a verification. Called more than once. */
  readonly endWaits?: () => void;
  /** What SIGHUP asks for. Never throws or rejects. */
  readonly reload?: () => void | Promise<void>;
  readonly close?: () => Promise<void>;
}

/** Closes what is open, in reverse. */
export async function closeFeatures(features: readonly Feature[]): Promise<void> {
  for (const feature of features.toReversed()) await feature.close?.();
}
