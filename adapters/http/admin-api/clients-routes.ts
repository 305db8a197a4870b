import {
  ADMIN_SCOPES,
  type AdministrationProblem,
  type ClientAdministration,
  type Expected,
  type ReadDocument,
  type ShownClient,
} from '../../../application/admin-api/administer-clients.ts';
import type { CallerBudget } from '../../../application/ports/caller-budget.ts';
import { isClientId } from '../../../domain/client-registration.ts';
import type { Result } from '../../../domain/result.ts';
import { Scope } from '../../../domain/scope.ts';
import { CLIENTS_PATH } from '../endpoints/paths.ts';
import { type Exchange, sendRefusal } from '../server/exchange.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import { httpRefusal } from '../server/http-refusal.ts';
import type { Access, Handler, Route } from '../server/koa-application.ts';
import type { Authorizer } from '../server/require-bearer.ts';
import { type JsonObject, readJson } from './read-json.ts';

const PAGE = { default: 100, max: 500 };

/** A caller whose token has expired waits so long once. */
const REFUSAL_DELAY_MS = 200;

/** Clients of a page that cost as much as a request for one. */
const CLIENTS_OF_A_UNIT = 50;

/** One entity tag, strong or weak (RFC 9110 section 8.8.3). */
const ENTITY_TAG = /^(?:W\/)?"([^"]*)"$/;

/** A request about one client. */
interface ClientCall {
  readonly ctx: Exchange;
  readonly clients: ClientAdministration;
  readonly id: string;
  /** Empty where the path has none. */
  readonly secretId: string;
  readonly expected: Expected;
}

interface ClientsRoutesParts {
  readonly authorize: Authorizer;
  /** In units: one to read a client, two for a change, and more for a page. */
  readonly budget: CallerBudget;
  /** The use cases for this caller, with the scopes that it has. */
  administer(clientId: string, scopes: readonly string[]): ClientAdministration;
  /** Reads the document of a client. */
  documentOf(clientId: string, given: JsonObject): ReadDocument;
}

/** `/clients` and what is behind it: to manage clients with tokens of this service. */
export function clientsRoutes({ authorize, budget, administer, documentOf }: ClientsRoutesParts): readonly Route[] {
  const [read, write] = [scopeOf(ADMIN_SCOPES.read), scopeOf(ADMIN_SCOPES.write)];
  const scope = (method: string) => (method === 'GET' || method === 'HEAD' ? read : write);
  const access: Access = { kind: 'bearer', authorize, scope, refusalDelayMs: REFUSAL_DELAY_MS };

  const of = ({ state: { clientId = '', scopes = [] } }: Exchange) => administer(clientId, scopes);
  /**
   * Whether the caller has so much left of its budget. If not, answers with the refusal, which waits: it would cost as
   * much as a response.
   */
  const mayAsk = (ctx: Exchange, units: number): boolean => {
    if (budget.take(ctx.state.clientId ?? '', units)) return true;
    sendRefusal(ctx, { ...httpRefusal('requests_exhausted'), delayMs: 1_000 });
    return false;
  };

  /**
   * For an id of the path, which the router has decoded. What cannot be one has no client. @param condition whether the
   * request names the state that it expects.
   */
  const forClient =
    (
      units: number,
      condition: 'ignored' | 'optional' | 'required',
      work: (request: ClientCall) => Promise<void>,
    ): Handler =>
    async (ctx) => {
      const { id = '', secret = '' } = (ctx as Exchange & { params: Readonly<Record<string, string>> }).params;
      if (!isDecodable(ctx.path) || !isClientId(id)) return refuse(ctx, 'resource_unknown');
      if (!mayAsk(ctx, units)) return;
      const absent = condition === 'required' ? undefined : 'any';
      const expected = condition === 'ignored' ? absent : expectedBy(ctx, absent);
      if (expected === undefined) return refuse(ctx, 'condition_missing');
      return work({ ctx, clients: of(ctx), id, secretId: secret, expected });
    };
  const setState = (state: 'enabled' | 'disabled') =>
    forClient(2, 'optional', async ({ ctx, clients, id, expected }) =>
      answerClient(ctx, await clients.setState(id, state, expected)),
    );
  const route = (path: string, methods: Route['methods']): Route => ({ path: CLIENTS_PATH + path, access, methods });
  return [
    route('', { GET: async (ctx) => listPage(ctx, of(ctx), mayAsk) }),
    route('/:id', {
      GET: forClient(1, 'ignored', async ({ ctx, clients, id }) => answerClient(ctx, await clients.show(id))),
      PUT: forClient(2, 'required', (call) => put(call, documentOf)),
      DELETE: forClient(2, 'required', async ({ ctx, clients, id, expected }) =>
        answerNothing(ctx, await clients.remove(id, expected)),
      ),
    }),
    route('/:id/disable', { POST: setState('disabled') }),
    route('/:id/enable', { POST: setState('enabled') }),
    route('/:id/secrets', { POST: forClient(2, 'optional', addSecret) }),
    route('/:id/secrets/:secret', {
      DELETE: forClient(2, 'optional', async ({ ctx, clients, id, secretId, expected }) =>
        answerNothing(ctx, await clients.removeSecret(id, secretId, expected)),
      ),
    }),
  ];
}

async function put(
  { ctx, clients, id, expected }: ClientCall,
  documentOf: ClientsRoutesParts['documentOf'],
): Promise<void> {
  const body = await readJson(ctx);
  if (!body.ok) return refuse(ctx, body.problem);
  const done = await clients.put(id, expected, documentOf(id, body.value));
  answerClient(ctx, done, done.ok && done.value.isNew ? 201 : 200);
}

async function addSecret({ ctx, clients, id, expected }: ClientCall): Promise<void> {
  const body = await readJson(ctx, {});
  if (!body.ok) return refuse(ctx, body.problem);
  const { name, expires_at: expiresAt, ...others } = body.value;
  const isName = name === undefined || typeof name === 'string';
  const isTime = expiresAt === undefined || Number.isSafeInteger(expiresAt);
  if (!isName || !isTime || Object.keys(others).length > 0) {
    const text = 'may have name, a text, and expires_at, in seconds since the epoch';
    return refuseProblem(ctx, { kind: 'document_invalid', problems: [{ path: '', code: 'invalid_value', text }] });
  }
  const end = expiresAt === undefined ? {} : { expiresAt: Number(expiresAt) };
  const added = await clients.addSecret(id, { ...(name !== undefined && { name }), ...end }, expected);
  if (!added.ok) return refuseProblem(ctx, added.problem);
  ctx.status = 201;
  ctx.body = added.value;
}

/** GET /clients: a page, and the path of the next one if there may be more. */
async function listPage(
  ctx: Exchange,
  clients: ClientAdministration,
  mayAsk: (ctx: Exchange, units: number) => boolean,
): Promise<void> {
  const parameters = new URLSearchParams(ctx.querystring);
  const [after, limit = String(PAGE.default)] = [
    parameters.get('after') ?? undefined,
    parameters.get('limit') ?? undefined,
  ];
  const size = /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  const isOnce = ['after', 'limit'].every((name) => parameters.getAll(name).length < 2);
  const isKnown = [...parameters.keys()].every((name) => name === 'after' || name === 'limit');
  const isId = after === undefined || isClientId(after);
  if (!isOnce || !isKnown || !isId || size < 1 || size > PAGE.max) return refuse(ctx, 'page_malformed');
  if (!mayAsk(ctx, 1 + size / CLIENTS_OF_A_UNIT)) return;
  const { documents, last } = await clients.list(after, size);
  const next = last && `${CLIENTS_PATH}?${new URLSearchParams({ after: last, limit })}`;
  ctx.status = 200;
  ctx.body = { clients: documents, ...(next !== undefined && { next }) };
}

/**
 * Which state the request asks for (RFC 9110 sections 13.1.1 and 13.1.2); undefined if it says something else. @param
 * absent if it says nothing.
 */
function expectedBy(ctx: Exchange, absent: Expected | undefined): Expected | undefined {
  const [match, noneMatch] = [ctx.get('If-Match').trim(), ctx.get('If-None-Match').trim()];
  if (match === '' && noneMatch === '') return absent;
  if (match === '') return noneMatch === '*' ? 'none' : undefined;
  if (noneMatch !== '') return undefined;
  if (match === '*') return 'any';
  const tags = match.split(',').map((tag) => ENTITY_TAG.exec(tag.trim()));
  if (tags.includes(null)) return undefined;
  // A weak one never matches here.
  return tags.flatMap((tag) => (tag?.[0].startsWith('W/') ? [] : [tag?.[1] ?? '']));
}

function answerClient(ctx: Exchange, done: Result<ShownClient, AdministrationProblem>, status = 200): void {
  if (done.ok) {
    ctx.status = status;
    ctx.set('ETag', `"${done.value.version}"`);
    ctx.body = done.value.document;
  } else refuseProblem(ctx, done.problem);
}

function answerNothing(ctx: Exchange, done: Result<void, AdministrationProblem>): void {
  if (done.ok) ctx.status = 204;
  else refuseProblem(ctx, done.problem);
}

function refuse(ctx: Exchange, reason: HttpReason): void {
  sendRefusal(ctx, httpRefusal(reason));
}

/** Everything that is wrong with a document is in the response (RFC 9457). */
function refuseProblem(ctx: Exchange, { kind, owner, problems }: AdministrationProblem): void {
  const isUnknown = kind === 'client_unknown' || kind === 'secret_unknown';
  const refusal = httpRefusal(isUnknown ? 'resource_unknown' : kind);
  sendRefusal(ctx, owner === undefined ? refusal : { ...refusal, shown: owner });
  if (kind !== 'document_invalid') return;
  ctx.body = { title: 'the document breaks rules', status: ctx.status, ...Object(ctx.body), errors: problems };
  ctx.type = 'application/problem+json';
}

/** The router leaves a broken percent-encoding as it is, so that it would name another client. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

function scopeOf(text: string): Scope {
  const scope = Scope.parse(text);
  if (!scope.ok) throw new Error(`${text} is no scope`);
  return scope.value;
}
