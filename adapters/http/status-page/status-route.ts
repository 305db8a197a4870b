import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Exchange } from '../server/exchange.ts';
import type { Access, Route } from '../server/koa-application.ts';
import { Html } from './html.ts';
import { type LookUp, type StatusOfService, statusPage } from './status-page.ts';

const STATUS_PAGE_PATH = '/status';

/** Seconds until the page is loaded again, unless it shows a look-up. */
const RELOAD_SECONDS = 30;

/** Throws if the file is missing. */
const STYLE = readFileSync(new URL('style.css', import.meta.url), 'utf8');

/**
 * Nothing from elsewhere but the one style sheet, no script, no frame around it (Content Security Policy Level 3), and
 * no address in a Referer.
 */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** The status page, for the operator, and where people look first. */
export function statusRoutes(access: Access, status: (lookUp?: LookUp) => StatusOfService): readonly Route[] {
  return [
    { path: '/', access, methods: { GET: toPage } },
    { path: STATUS_PAGE_PATH, access, methods: { GET: (ctx) => page(ctx, status) } },
  ];
}

async function toPage(ctx: Exchange): Promise<void> {
  ctx.set('Location', STATUS_PAGE_PATH);
  ctx.status = 302;
  ctx.body = { location: STATUS_PAGE_PATH };
}

/** A parameter that is empty or unknown is ignored. */
async function page(ctx: Exchange, status: (lookUp?: LookUp) => StatusOfService): Promise<void> {
  const parameters = new URLSearchParams(ctx.querystring);
  const [request, client] = [parameters.get('request')?.trim().toLowerCase(), parameters.get('client')];
  const lookUp = request ? { request } : client ? { client } : undefined;
  ctx.set(HEADERS);
  if (lookUp === undefined) ctx.set('Refresh', String(RELOAD_SECONDS));
  ctx.status = 200;
  ctx.body = statusPage(status(lookUp), new Html(STYLE));
}
