import type { Access, Route } from '../server/koa-application.ts';
import type { OperatorAccess } from '../server/operator-access.ts';

/**
 * The routes of the management port as the public one has them: everybody learns from probes whether the service is
 * alive and ready, and the operator alone why not, and everything else. Without an operator's token, nobody does.
 */
export function routesOfOnePort(management: readonly Route[]): readonly Route[] {
  const operator = management.map(({ access }) => access).find(isOfOperator);
  return management.flatMap((route) => {
    if (route.isProbe) return [withoutDetails(route, operator?.operator)];
    // Those with a token of their own need no operator. Their refusals come as fast as for a path that does not exist.
    if (route.access.kind === 'bearer') return [{ ...route, access: { ...route.access, refusalDelayMs: 0 } }];
    return operator === undefined ? [] : [{ ...route, access: operator }];
  });
}

function isOfOperator(access: Access): access is Extract<Access, { kind: 'operator' }> {
  return access.kind === 'operator';
}

/** A probe that shows its checks to the operator alone: they name keys, files and faults. */
function withoutDetails(route: Route, operator: OperatorAccess | undefined): Route {
  const { GET } = route.methods;
  if (GET === undefined) return route;
  return {
    ...route,
    methods: {
      GET: async (ctx) => {
        await GET(ctx);
        if (!operator?.isSentBy(ctx)) ctx.body = { status: Object(ctx.body).status };
      },
    },
  };
}
