import Router from '@koa/router';
import Koa from 'koa';
import type { AuthorizeRequest } from '../../../application/authorize-request.ts';
import { type Exchange, type ExchangeParts, type ExchangeState, exchange, refuse } from './exchange.ts';
import { httpRefusal } from './refusals.ts';
import { requireBearer } from './require-bearer.ts';
import type { Handler, Route } from './route.ts';

/** An error of a connection, for the log. A client that disconnects is not the service's fault: its code is enough. */
export type ConnectionFault =
  | { readonly event: 'connection_lost'; readonly code: string }
  | { readonly event: 'connection_failed'; readonly fault: unknown };

export interface ApplicationParts extends ExchangeParts {
  readonly routes: readonly Route[];
  readonly authorizeRequest: AuthorizeRequest;
  /** Called with errors outside of a response's own handling, such as a connection that broke while the response was sent. */
  readonly onFault: (fault: ConnectionFault) => void;
}

/**
 * The Koa application. It denies by default: whether a path is public is a property of the route that matched it, so no
 * second rule about paths can disagree, and a path without a route requires a token before the answer is 404.
 */
export function createApplication({
  routes,
  authorizeRequest,
  onFault,
  ...parts
}: ApplicationParts): Koa<ExchangeState> {
  const router = new Router<ExchangeState>({ sensitive: true, strict: true });
  for (const route of routes) {
    router.all(route.path, async (ctx) => {
      ctx.state.route = route.path;
      const { access } = route;
      if (access.kind === 'bearer' && !(await requireBearer(ctx, authorizeRequest, access.scope))) return;
      await answer(ctx, route);
    });
  }
  const application = new Koa<ExchangeState>();
  application.on('error', (fault) => onFault(connectionFault(fault)));
  application.use(exchange(parts));
  application.use(router.routes());
  application.use(async (ctx) => {
    if (await requireBearer(ctx, authorizeRequest)) refuse(ctx, httpRefusal('route_unknown'));
  });
  return application;
}

async function answer(ctx: Exchange, { methods }: Route): Promise<void> {
  const handler = handlerOf(methods, ctx.method);
  if (handler !== undefined) return handler(ctx);
  const allowed = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  refuse(ctx, httpRefusal('method_not_allowed', { Allow: allowed.join(', ') }));
}

/** HEAD is GET without its body (RFC 9110 section 9.3.2); Koa omits the body. */
function handlerOf(methods: Route['methods'], method: string): Handler | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return methods.GET;
    case 'POST':
      return methods.POST;
    default:
      return undefined;
  }
}

function connectionFault(fault: unknown): ConnectionFault {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
  return code === 'ECONNRESET' || code === 'EPIPE'
    ? { event: 'connection_lost', code }
    : { event: 'connection_failed', fault };
}
