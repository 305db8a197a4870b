import type { Handler } from '../server/koa-application.ts';

/**
 * GET /openapi.json: the description of the public port (docs/openapi.json), with the base URL of this service. It is
 * loaded at the first request.
 */
export function openApiEndpoint(baseUrl: string): Handler {
  return async (ctx) => {
    const { default: description } = await import('../../../docs/openapi.json', { with: { type: 'json' } });
    ctx.status = 200;
    ctx.body = { ...description, servers: [{ url: baseUrl }] };
  };
}
