import { type HealthCheck, statesOf } from '../../../application/ports/health-check.ts';
import type { Exposition } from '../../../application/ports/telemetry.ts';
import type { Exchange } from '../server/exchange.ts';
import type { Access, Handler, Route } from '../server/koa-application.ts';

type Checks = () => readonly HealthCheck[];

/**
 * The routes of the management port. They require no token: bind the port to an address that only operators can reach.
 * Probes of a platform use any name, and learn nothing that helps an attacker; metrics are only for hosts that the port
 * answers.
 *
 * @param verificationChecks of what needs no database: to verify tokens, and to publish keys.
 */
export function managementRoutes(
  checks: Checks,
  verificationChecks: Checks,
  scrape: () => Promise<Exposition>,
): readonly Route[] {
  const access: Access = { kind: 'public' };
  const probe = (path: string, handler: Handler): Route => ({ path, access, isProbe: true, methods: { GET: handler } });
  return [
    probe('/livez', liveness),
    probe('/readyz', (ctx) => readiness(ctx, checks())),
    probe('/readyz/verification', (ctx) => readiness(ctx, verificationChecks())),
    { path: '/metrics', access, methods: { GET: async (ctx) => metrics(ctx, await scrape()) } },
  ];
}

/** Always 200 while this process responds. An unavailable dependency is no reason to restart it. */
async function liveness(ctx: Exchange): Promise<void> {
  ctx.status = 200;
  ctx.body = { status: 'alive' };
}

/** 200 if every check is ready, otherwise 503, with the state of each check. */
async function readiness(ctx: Exchange, checks: readonly HealthCheck[]): Promise<void> {
  const states = statesOf(checks);
  const ready = states.every((state) => state.ready);
  ctx.status = ready ? 200 : 503;
  ctx.body = { status: ready ? 'ready' : 'not_ready', checks: states };
}

function metrics(ctx: Exchange, { contentType, text }: Exposition): void {
  ctx.status = 200;
  ctx.set('Content-Type', contentType);
  ctx.body = text;
}
