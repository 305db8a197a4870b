import { randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type Koa from 'koa';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { RequestLine } from '../../../application/ports/telemetry.ts';
import { SlotsExhausted } from '../../../application/ports/verification-slots.ts';
import type { Countable, LoadLimit } from '../admission/load-limit.ts';
import type { RejectionDelay } from '../admission/rejection-delay.ts';
import { ResponsePacing } from '../admission/response-pacing.ts';
import type { ClientAddress } from '../parsing/client-address.ts';
import {
  type Authorization,
  connectionAddress,
  EMPTY_HEAD,
  type RequestHead,
  readRequestHead,
  releaseHeaderFields,
} from '../parsing/request-head.ts';
import type { HttpReason } from './http-reasons.ts';
import {
  type ErrorResponse,
  type HttpRefusal,
  httpRefusal,
  RESPONSE_HEADERS,
  RESPONSES,
  refusalBody,
} from './http-refusal.ts';
import { type ParserErrorParts, parserRefusalOf } from './parser-errors.ts';

/** What one request and its response carry through the middleware. */
export interface ExchangeState extends Countable {
  requestId: string;
  clientAddress: string;
  head: RequestHead;
  /** The declared path of the matched route; the requested path may contain a secret and is not logged. */
  route?: string;
  refusal?: HttpRefusal;
  clientId?: string;
  tokenId?: string;
  /** That of the server, by which it was admitted. */
  load: LoadLimit;
  /** Of the bearer token. */
  scopes?: readonly string[];
  fault?: unknown;
}

export type Exchange = Koa.ParameterizedContext<ExchangeState>;

export interface ExchangeParts extends ParserErrorParts {
  readonly load: LoadLimit;
  readonly rejectionDelay: RejectionDelay;
  /** By default one of these routes alone. */
  readonly responsePacing?: ResponsePacing;
  /** By default the address of the connection. */
  readonly clientAddress?: ClientAddress;
  /** Called once with each exchange that ends in a refusal, which is answered when it resolves. Must not reject. */
  readonly onRefusal?: (exchange: Exchange) => Promise<void>;
  /** Called before the response to a client that has authenticated, unless it is a refusal. */
  readonly onServed?: (socket: Socket) => void;
}

/**
 * The outermost middleware: id, common header fields and admission before; faults, metrics and the log line after.
 *
 * | a request | counts in the load limit | goes on, or ends with |
 * |---|---|---|
 * | arrives | no | there is a place: admitted; otherwise 503 `overloaded` |
 * | is admitted: its head is read, its route called | yes | a response, or one of the next two |
 * | uploads its body (form.ts) | no | it is there: admitted again, or 503 |
 * | has its body | yes | all that the event loop reads in this pass has been read (`endOfPass`) |
 * | waits for a verification (`waitUncounted`) | no | a token is to be signed: counted again if there is a place; it goes on in any case |
 * | has a response | no | logged; a refusal beyond 20 a second on its connection waits (`RejectionDelay`) |
 * | is ready | no | one of 64 of its kind in this pass of the event loop: sent; otherwise in the next one (`ResponsePacing`) |
 *
 * What holds, with its test in tests/adapters/http/connections.test.ts: no more requests count than `LoadLimit.max`
 * when one enters ("admits requests up to the limit, and one more for each that leaves"); a request counts once and
 * leaves once ("counts a request once, however often it leaves, …"); what waits holds no header fields ("is counted,
 * and holds no header fields"), and has a bound, at which the response is sent at once and ends its connection ("is
 * answered at once and closed", "is sent at once and ends its connection").
 *
 * @param uncounted paths that the load limit does not count.
 */
export function exchange(parts: ExchangeParts, uncounted: ReadonlySet<string>): Koa.Middleware<ExchangeState> {
  const { ids, log, metrics, load, rejectionDelay, clientAddress = connectionAddress, onRefusal, onServed } = parts;
  const { responsePacing = new ResponsePacing() } = parts;
  const enters: (ctx: Exchange) => boolean =
    uncounted.size === 0 ? (ctx) => load.enter(ctx.state) : (ctx) => uncounted.has(ctx.path) || load.enter(ctx.state);
  return async (ctx, next) => {
    const begin = performance.now();
    ctx.state.requestId = ids.uuid();
    ctx.state.clientAddress = clientAddress(ctx.req);
    ctx.state.load = load;
    ctx.state.isRepeated = load.isRepeated(ctx.req.socket, begin);
    ctx.set(RESPONSE_HEADERS);
    ctx.set('X-Request-Id', ctx.state.requestId);

    if (enters(ctx)) await readHeadAndContinue(ctx, next).finally(() => load.leave(ctx.state));
    else sendRefusal(ctx, httpRefusal('overloaded'));
    if (ctx.state.refusal !== undefined) await onRefusal?.(ctx);

    const line = requestLine(ctx, performance.now() - begin);
    metrics?.count(line);
    if (line.status >= 500) log.error(line);
    else log.info(line);

    // The rest of a body that nobody reads may arrive after the response.
    dropHead(ctx);
    const { socket } = ctx.req;
    const { refusal, clientId, tokenId, isRepeated } = ctx.state;
    if (refusal === undefined && clientId !== undefined) onServed?.(socket);
    const delayMs = refusal === undefined ? 0 : Math.max(rejectionDelay.delayMs(socket), refusal.delayMs ?? 0);
    if (delayMs > 0) await hold(ctx, rejectionDelay, () => rejectionDelay.wait(delayMs));
    const kind = refusal && isRepeated ? 'repeated refusal' : tokenId === undefined ? 'other' : 'token';
    if (responsePacing.mustWait(kind)) await hold(ctx, responsePacing, () => responsePacing.wait(kind, socket));
  };
}

/** Lets a response wait. If too many wait, it is sent at once and ends its connection. */
async function hold(ctx: Exchange, { full }: { readonly full: boolean }, wait: () => Promise<void>): Promise<void> {
  if (full) ctx.set('Connection', 'close');
  else await wait();
}

/** Lets go of the head before a wait: of everything, or of all but the Authorization. */
export function dropHead({ req, state }: Exchange, authorization?: Authorization): void {
  releaseHeaderFields(req);
  state.head = authorization === undefined ? EMPTY_HEAD : { ...EMPTY_HEAD, authorization };
}

async function readHeadAndContinue(ctx: Exchange, next: Koa.Next): Promise<void> {
  try {
    if (readHead(ctx)) await next();
  } catch (fault) {
    answerFault(ctx, fault);
  }
}

/** Whether the head is well-formed. If not, answers with the refusal. */
function readHead(ctx: Exchange): boolean {
  const head = readRequestHead(ctx.req);
  if (head.ok) ctx.state.head = head.value;
  else sendRefusal(ctx, httpRefusal(head.problem, { Connection: 'close' }));
  return head.ok;
}

/** Answers with the refusal. What depends on a registration looks the same, without a description. */
export function sendRefusal(ctx: Exchange, refusal: HttpRefusal): void {
  ctx.state.refusal = refusal;
  const { status, retryAfter }: ErrorResponse = RESPONSES[refusal.code];
  ctx.status = status;
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  ctx.set(refusal.headers ?? {});
  ctx.body = refusalBody(refusal);
}

/**
 * Aborted when the connection closes before this response was sent: the client has disconnected. Not after it, since
 * the reason of each abort is an error with a stack trace, which cost an assertion 2 % of its time.
 */
export function signalOfClose(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = () => {
    if (!response.writableFinished) controller.abort();
  };
  if (response.destroyed) abort();
  else response.once('close', abort);
  return controller.signal;
}

/**
 * The one place that turns a fault into 500 or 503, unless Node's parser refused the request or the client has
 * disconnected.
 */
function answerFault(ctx: Exchange, fault: unknown): void {
  const byParser = parserRefusalOf(ctx.req);
  if (byParser !== undefined) {
    sendRefusal(ctx, byParser);
  } else if (ctx.req.socket.destroyed || (ctx.req.destroyed && !ctx.req.complete)) {
    sendRefusal(ctx, httpRefusal('client_disconnected'));
  } else {
    ctx.state.fault = fault;
    sendRefusal(ctx, refusalOfFault(fault));
  }
}

/** The longest Retry-After without a free slot, in seconds. It is random: clients do not all return at once. */
const RETRY_AFTER_SECONDS_MAX = 10;

function refusalOfFault(fault: unknown): HttpRefusal {
  if (!(fault instanceof SlotsExhausted)) return httpRefusal(reasonOf(fault));
  const refusal = httpRefusal('slots_exhausted', { 'Retry-After': String(randomInt(1, RETRY_AFTER_SECONDS_MAX + 1)) });
  return fault.clientId === undefined ? refusal : { ...refusal, clientId: fault.clientId };
}

function reasonOf(fault: unknown): HttpReason {
  return fault instanceof DependencyUnavailable ? 'dependency_unavailable' : 'unforeseen';
}

function requestLine(ctx: Exchange, milliseconds: number): RequestLine {
  const { requestId, clientAddress, route, refusal, clientId, tokenId, fault } = ctx.state;
  const client = clientId ?? refusal?.clientId;
  return {
    request_id: requestId,
    method: ctx.method,
    route: route ?? 'none',
    status: ctx.status,
    duration_ms: Math.round(milliseconds * 1000) / 1000,
    remote_address: clientAddress,
    ...(refusal && { error: RESPONSES[refusal.code].error, reason: refusal.reason, detail: refusal.detail }),
    ...(client !== undefined && { client_id: client }),
    ...(tokenId !== undefined && { token_id: tokenId }),
    ...(fault !== undefined && { fault }),
  };
}
