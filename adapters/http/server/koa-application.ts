import Router from '@koa/router';
import Koa from 'koa';
import type { AuthorizeRequest } from '../../../application/authorize-request.ts';
import type { Scope } from '../../../domain/scope.ts';
import type { HostCheck } from '../parsing/own-hosts.ts';
import { type Exchange, type ExchangeParts, type ExchangeState, exchange, sendRefusal } from './exchange.ts';
import { httpRefusal } from './http-refusal.ts';
import type { OperatorAccess } from './operator-access.ts';
import { type Authorizer, requireBearer } from './require-bearer.ts';

/** The methods that a route can have. */
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

type Method = (typeof METHODS)[number];

/** Answers a request that has access to its route. */
export type Handler = (ctx: Exchange) => Promise<void>;

/** Who has access: everyone, the bearer of a token with these scopes, or the operator. There is no default. */
export type Access =
  | { readonly kind: 'public' }
  | BearerAccess
  | { readonly kind: 'operator'; readonly operator: OperatorAccess };

/** The bearer of a valid token that has the scope, or that of the method. */
interface BearerAccess {
  readonly kind: 'bearer';
  readonly scope?: Scope | ((method: string) => Scope);
  /** By default by the tokens of the public port. */
  readonly authorize?: Authorizer;
  /** How long each refusal waits at least, in milliseconds: floods of them cost the other port nothing then. */
  readonly refusalDelayMs?: number;
}

const BEARER: Access = { kind: 'bearer' };

/** One path and the methods that it answers. */
export interface Route {
  /** Matched exactly: case, trailing slash and percent-encoding count. A segment `:name` matches any one segment. */
  readonly path: string;
  /** Further paths, which are matched in the same way. Logs and metrics have the first one. */
  readonly aliases?: readonly string[];
  readonly access: Access;
  /**
   * A probe is answered under every name, although the port has names of its own. And the load limit neither counts nor
   * refuses it, so that a flood does not restart a service that answers.
   */
  readonly isProbe?: true;
  readonly methods: Readonly<Partial<Record<Method, Handler>>>;
}

/** An error of a connection, for the log. A client that disconnects is not the service's fault: its code is enough. */
type ConnectionFault =
  | { readonly event: 'connection_lost'; readonly code: string }
  | { readonly event: 'connection_failed'; readonly fault: unknown };

export interface ApplicationParts extends ExchangeParts {
  readonly routes: readonly Route[];
  readonly authorizeRequest: AuthorizeRequest;
  /** Who may learn that a path has no route: by default the bearer of a valid token. */
  readonly otherPaths?: Access | undefined;
  /** Paths without a route that are often called, which the log names. The response is the same. */
  readonly mistakenPaths?: ReadonlyMap<string, string>;
  /** Paths that begin with this are public: everyone may learn which of them have no route. */
  readonly publicPrefix?: string | undefined;
  /** By default every host is answered. */
  readonly answersHost?: HostCheck;
  /** Called with errors outside of a response's handling, such as a connection that broke meanwhile. */
  readonly onFault: (fault: ConnectionFault) => void;
}

/**
 * The Koa application. It denies by default: whether a path is public is a property of the route that matched it, so no
 * second rule about paths can disagree, and a path without a route requires a token before the response is 404.
 */
export function createApplication(parts: ApplicationParts): Koa<ExchangeState> {
  const { routes, onFault, otherPaths = BEARER, publicPrefix, mistakenPaths = new Map() } = parts;
  const uncounted = new Set(routes.flatMap((route) => (route.isProbe ? pathsOf(route) : [])));
  const router = new Router<ExchangeState>({ sensitive: true, strict: true });
  for (const route of routes) {
    router.all(pathsOf(route), async (ctx) => {
      ctx.state.route = route.path;
      if (await admits(route, ctx, parts)) await callHandler(ctx, route);
    });
  }
  const application = new Koa<ExchangeState>();
  application.on('error', (fault) => onFault(connectionFault(fault)));
  application.use(exchange(parts, uncounted));
  application.use(router.routes());
  application.use(async (ctx) => {
    const isPublic = publicPrefix !== undefined && ctx.path.startsWith(publicPrefix);
    const access: Access = isPublic ? { kind: 'public' } : otherPaths;
    if (await admits({ access }, ctx, parts)) sendRefusal(ctx, httpRefusal('route_unknown'));
    const meant = mistakenPaths.get(ctx.path);
    if (meant === undefined || ctx.state.refusal === undefined) return;
    ctx.state.route = ctx.path;
    ctx.state.refusal = { ...ctx.state.refusal, detail: `the path is ${meant}` };
  });
  return application;
}

function pathsOf({ path, aliases = [] }: Route): string[] {
  return [path, ...aliases];
}

/** Whether the request has access. If not, answers with the refusal. */
async function admits(
  { access, isProbe }: Pick<Route, 'access' | 'isProbe'>,
  ctx: Exchange,
  { authorizeRequest, answersHost = () => true }: ApplicationParts,
): Promise<boolean> {
  if (!isProbe && !answersHost(hostOf(ctx))) {
    sendRefusal(ctx, httpRefusal('host_unknown'));
    return false;
  }
  if (access.kind === 'public') return true;
  if (access.kind === 'operator') return access.operator.admits(ctx);
  const { scope, authorize = authorizeRequest, refusalDelayMs = 0 } = access;
  const isAdmitted = await requireBearer(ctx, authorize, typeof scope === 'function' ? scope(ctx.method) : scope);
  const { refusal } = ctx.state;
  if (refusal !== undefined && refusalDelayMs > 0) ctx.state.refusal = { ...refusal, delayMs: refusalDelayMs };
  return isAdmitted;
}

/** The Host field, or before it the authority of a target in absolute form (RFC 9112 section 3.2.2). */
function hostOf({ req }: Exchange): string | undefined {
  const [, authority] = /^[a-z]+:\/\/([^/?#]*)/i.exec(req.url ?? '') ?? [];
  return authority ?? req.headers.host;
}

/** HEAD is GET without its body (RFC 9110 section 9.3.2); Koa omits the body. */
async function callHandler(ctx: Exchange, { methods }: Route): Promise<void> {
  const method = ctx.method === 'HEAD' ? 'GET' : ctx.method;
  const known = METHODS.find((name) => name === method);
  const handler = known && methods[known];
  if (handler !== undefined) return handler(ctx);
  const allowed = Object.keys(methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
  sendRefusal(ctx, httpRefusal('method_not_allowed', { Allow: allowed.join(', ') }));
}

function connectionFault(fault: unknown): ConnectionFault {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
  return code === 'ECONNRESET' || code === 'EPIPE'
    ? { event: 'connection_lost', code }
    : { event: 'connection_failed', fault };
}
