import { onceAtATime } from '../../../application/once-at-a-time.ts';
import type { AnswerRoutes, RouteAnswer } from '../../../application/ports/processes.ts';
import { type Exchange, type ExchangeState, sendRefusal } from '../server/exchange.ts';
import { isHttpReason } from '../server/http-reasons.ts';
import { httpRefusal } from '../server/http-refusal.ts';
import type { Access, Handler, Route } from '../server/koa-application.ts';

/** Needs nothing of another process: a process that responds is alive. */
const LIVENESS = '/livez';

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

/** The same routes in a worker, answered by the primary. Any number of callers who ask for the same probe wait for one answer. */
export function passedOnRoutes(routes: readonly Route[], ask: AnswerRoutes): readonly Route[] {
  return routes.map((route) => {
    if (route.path === LIVENESS) return route;
    return { ...route, methods: { GET: passOn(route, route.isProbe ? onceAtATime(ask) : ask) } };
  });
}

/** Runs routes for the workers, which have checked the access. */
export function answerRoutes(routes: readonly Route[]): AnswerRoutes {
  return async ({ route, path, querystring }) => {
    const handle = routes.find((known) => known.path === route)?.methods.GET;
    if (handle === undefined) throw new Error('no such route');
    const headers: Record<string, string> = {};
    const state: Partial<ExchangeState> = {};
    const set = (fields: string | Record<string, string>, value = '') =>
      void Object.assign(headers, typeof fields === 'string' ? { [fields]: value } : fields);
    const exchange = { path, querystring, set, state, status: 404, body: undefined };
    // All that handlers of the management port use.
    await handle(exchange as unknown as Exchange);
    const { status, body } = exchange;
    return { status, headers, body, reason: state.refusal?.reason };
  };
}

function passOn({ path: route }: Route, ask: AnswerRoutes): Handler {
  return async (ctx) => {
    const { status, headers, body, reason }: RouteAnswer = await ask({
      route,
      path: ctx.path,
      querystring: ctx.querystring,
    });
    if (reason !== undefined && isHttpReason(reason)) return sendRefusal(ctx, httpRefusal(reason));
    ctx.status = status;
    ctx.set(headers);
    ctx.body = body;
  };
}
