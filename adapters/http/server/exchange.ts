import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { IdGenerator } from '../../../application/ports/id-generator.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import type { RefusalPace } from '../admission/rejection-delay.ts';
import { malformationOf } from '../parsing/malformed-request.ts';
import { parserRefusalOf } from './parser-errors.ts';
import { ANSWERS, type HttpRefusal, httpRefusal, refusalBody } from './refusals.ts';
import type { RequestLine, RequestLog } from './request-log.ts';

/** What one request and its answer carry through the middleware. */
export interface ExchangeState {
  requestId: string;
  /** The path of the matched route as it was declared; the path that was asked for may hold a secret and is not logged. */
  route?: string;
  refusal?: HttpRefusal;
  clientId?: string;
  tokenId?: string;
  fault?: unknown;
}

export type Exchange = Koa.ParameterizedContext<ExchangeState>;

/** Header fields of every answer (RFC 6749 section 5.1). */
export const ANSWER_HEADERS = { 'Cache-Control': 'no-store', Pragma: 'no-cache' } as const;

export interface ExchangeParts {
  readonly ids: IdGenerator;
  readonly log: RequestLog;
  readonly load: LoadLimit;
  readonly pace: RefusalPace;
}

/** Outermost: gives the exchange its id and its headers, turns a fault into 500 or 503, and writes the one log line. */
export function exchange({ ids, log, load, pace }: ExchangeParts): Koa.Middleware<ExchangeState> {
  return async (ctx, next) => {
    const begin = performance.now();
    ctx.state.requestId = ids.uuid();
    ctx.set(ANSWER_HEADERS);
    ctx.set('X-Request-Id', ctx.state.requestId);
    if (load.enter()) {
      await answer(ctx, next).finally(() => load.leave());
    } else {
      refuse(ctx, httpRefusal('overloaded'));
    }
    log(requestLine(ctx, performance.now() - begin));
    const waitMs = ctx.state.refusal === undefined ? 0 : pace.delayMs(ctx.req.socket);
    if (waitMs > 0) await delay(waitMs);
  };
}

async function answer(ctx: Exchange, next: Koa.Next): Promise<void> {
  try {
    const malformed = malformationOf(ctx.req);
    if (malformed === undefined) await next();
    else refuse(ctx, httpRefusal(malformed, { Connection: 'close' }));
  } catch (error) {
    answerFault(ctx, error);
  }
}

/** Answers why not. Without a description for `invalid_client`, so that all its cases look the same. */
export function refuse(ctx: Exchange, refusal: HttpRefusal): void {
  ctx.state.refusal = refusal;
  const { status, retryAfter } = ANSWERS[refusal.code];
  ctx.status = status;
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  ctx.set(refusal.headers ?? {});
  ctx.body = refusalBody(refusal);
}

function answerFault(ctx: Exchange, fault: unknown): void {
  const byParser = parserRefusalOf(ctx.req);
  if (byParser !== undefined) {
    refuse(ctx, byParser);
  } else if (ctx.req.socket.destroyed || (ctx.req.destroyed && !ctx.req.complete)) {
    refuse(ctx, httpRefusal('caller_gone'));
  } else {
    ctx.state.fault = fault;
    refuse(ctx, refusalOfFault(fault));
  }
}

function refusalOfFault(fault: unknown): HttpRefusal {
  return httpRefusal(fault instanceof DependencyUnavailable ? 'dependency_unavailable' : 'unforeseen');
}

function requestLine(ctx: Exchange, milliseconds: number): RequestLine {
  const { requestId, route, refusal, clientId, tokenId, fault } = ctx.state;
  const client = clientId ?? refusal?.clientId;
  return {
    request_id: requestId,
    method: ctx.method,
    route: route ?? 'none',
    status: ctx.status,
    duration_ms: Math.round(milliseconds * 1000) / 1000,
    remote_address: ctx.req.socket.remoteAddress ?? 'gone',
    ...(refusal && { error: ANSWERS[refusal.code].error, reason: refusal.reason }),
    ...(client !== undefined && { client_id: client }),
    ...(tokenId !== undefined && { token_id: tokenId }),
    ...(fault !== undefined && { fault }),
  };
}
