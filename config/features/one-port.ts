import { routesOfOnePort } from '../../adapters/http/one-port/routes-of-one-port.ts';
import type { Route } from '../../adapters/http/server/koa-application.ts';
import type { Feature } from '../feature.ts';
import type { Settings } from '../settings/settings.ts';

/** `HEALTH_ON_PUBLIC_PORT`: the paths of the management port on the public one, for platforms that have no other. */
export function onePort({ HEALTH_ON_PUBLIC_PORT }: Settings, management: readonly Route[]): Feature | undefined {
  return HEALTH_ON_PUBLIC_PORT ? { routes: routesOfOnePort(management) } : undefined;
}
