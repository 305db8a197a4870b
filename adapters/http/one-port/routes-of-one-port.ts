import type { Access, Route } from '../server/koa-application.ts';

/**
 * The routes of the management port as the public one has them: probes as they are, and everything else for the operator alone.
 * Without an operator's token, there are only probes.
 */
export function routesOfOnePort(management: readonly Route[]): readonly Route[] {
  const operator: Access | undefined = management.find(({ access }) => access.kind === 'operator')?.access;
  return management.flatMap((route) => {
    if (route.isProbe) return [route];
    return operator === undefined ? [] : [{ ...route, access: operator }];
  });
}
