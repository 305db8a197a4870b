import type { RefusalRecord } from '../../../application/ports/telemetry.ts';
import { type Exchange, sendRefusal } from '../server/exchange.ts';
import { httpRefusal } from '../server/http-refusal.ts';
import type { Access, Route } from '../server/koa-application.ts';
import type { StatusData } from './status-data.ts';

/** What an operator can ask about the service. */
export interface StatusSource {
  /**
   * @param since leaves out samples of the history up to that time.
   * @param clientId leaves out the refusals of other clients.
   */
  data(since: number, clientId: string | undefined): Promise<StatusData>;
  /** `incomplete`: not found, but a process did not answer in time. */
  findRefusal(requestId: string): Promise<RefusalRecord | 'unknown' | 'incomplete'>;
}

/** The data of the status page, for the operator. */
export function statusRoutes(access: Access, status: StatusSource): readonly Route[] {
  return [
    { path: '/status/data', access, methods: { GET: (ctx) => data(ctx, status) } },
    { path: '/status/refusals/:request_id', access, methods: { GET: (ctx) => refusal(ctx, status) } },
  ];
}

/** A parameter that is malformed or unknown is ignored. */
async function data(ctx: Exchange, status: StatusSource): Promise<void> {
  const parameters = new URLSearchParams(ctx.querystring);
  const since = Number(parameters.get('since') ?? 0) || 0;
  answer(ctx, await status.data(since, parameters.get('client') || undefined));
}

async function refusal(ctx: Exchange, status: StatusSource): Promise<void> {
  const found = await status.findRefusal(ctx.path.slice(ctx.path.lastIndexOf('/') + 1));
  if (found === 'unknown') return sendRefusal(ctx, httpRefusal('resource_unknown'));
  if (found === 'incomplete') return sendRefusal(ctx, httpRefusal('dependency_unavailable'));
  answer(ctx, found);
}

/** Browsers send the operator's password with every request: other sites must not be able to embed the answer. */
function answer(ctx: Exchange, body: object): void {
  ctx.set({ 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' });
  ctx.status = 200;
  ctx.body = body;
}
