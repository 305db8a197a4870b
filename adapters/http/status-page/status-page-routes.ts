import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Exchange, sendRefusal } from '../server/exchange.ts';
import { ALL_REASONS, httpRefusal } from '../server/http-refusal.ts';
import type { Access, Route } from '../server/koa-application.ts';
import { withParts } from './page-parts.ts';
import type { ServiceStatus } from './service-status.ts';

export const STATUS_PAGE_PATH = '/status';

/** The page and what it loads, below the path of the page. */
const FILES: Readonly<Record<string, string>> = {
  'app.js': 'browser/app.js',
  'charts.js': 'browser/charts.js',
  'figures.js': 'browser/figures.js',
  'format.js': 'browser/format.js',
  'look-up.js': 'browser/look-up.js',
  'view.js': 'browser/view.js',
  'style.css': 'browser/style.css',
  'uplot.js': 'uplot/dist/uPlot.iife.min.js',
  'uplot.css': 'uplot/dist/uPlot.min.css',
};

const TYPES = { html: 'text/html', js: 'text/javascript', css: 'text/css' } as const;

/** Nothing from elsewhere, nothing inline, no frame around it (Content Security Policy Level 3), and no address in a Referer. */
const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** The status page with its files, which are read once, now, and its data, for the operator. Throws if a file is missing. */
export function statusPageRoutes(access: Access, status: ServiceStatus): readonly Route[] {
  const require = createRequire(import.meta.url);
  const textOf = (file: string) => {
    const isOwn = file.startsWith('browser/');
    return readFileSync(isOwn ? new URL(file, import.meta.url) : require.resolve(file), 'utf8');
  };
  const page = withParts(textOf('browser/page.html')).replace('<!-- reasons -->', reasonList());
  return [
    { path: '/', access, methods: { GET: toPage } },
    { path: '/status/data', access, methods: { GET: (ctx) => data(ctx, status) } },
    { path: '/status/refusals/:request_id', access, methods: { GET: (ctx) => refusal(ctx, status) } },
    fileRoute(access, STATUS_PAGE_PATH, 'html', page),
    ...Object.entries(FILES).map(([name, file]) => {
      return fileRoute(access, `${STATUS_PAGE_PATH}/${name}`, name.endsWith('.js') ? 'js' : 'css', textOf(file));
    }),
  ];
}

function fileRoute(access: Access, path: string, type: keyof typeof TYPES, text: string): Route {
  const body = Buffer.from(text);
  const get = async (ctx: Exchange) => {
    ctx.status = 200;
    ctx.set({ ...HEADERS, 'Content-Type': `${TYPES[type]}; charset=utf-8` });
    ctx.body = body;
  };
  return { path, access, methods: { GET: get } };
}

/** Where people look first. */
async function toPage(ctx: Exchange): Promise<void> {
  ctx.set('Location', STATUS_PAGE_PATH);
  ctx.status = 302;
  ctx.body = { location: STATUS_PAGE_PATH };
}

/** A parameter that is malformed or unknown is ignored. */
async function data(ctx: Exchange, status: ServiceStatus): Promise<void> {
  const parameters = new URLSearchParams(ctx.querystring);
  const since = Number(parameters.get('since') ?? 0) || 0;
  const [clientId, reason] = [parameters.get('client'), parameters.get('reason')];
  answer(ctx, await status.data(since, clientId ? { clientId } : reason ? { reason } : undefined));
}

async function refusal(ctx: Exchange, status: ServiceStatus): Promise<void> {
  const found = status.findRefusal(ctx.path.slice(ctx.path.lastIndexOf('/') + 1));
  if (found === undefined) return sendRefusal(ctx, httpRefusal('resource_unknown'));
  answer(ctx, found);
}

/** Browsers send the operator's password with every request: other sites must not be able to embed the answer. */
function answer(ctx: Exchange, body: object): void {
  ctx.set({ 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' });
  ctx.status = 200;
  ctx.body = body;
}

/** The reasons and their explanations, for a list of definitions. */
function reasonList(): string {
  return Object.entries(ALL_REASONS)
    .map(([reason, { meaning }]) => `<dt id="reason-${reason}"><code>${reason}</code></dt><dd>${codeIn(meaning)}</dd>`)
    .join('\n');
}

/** Our own texts: they have backticks around code, and nothing that HTML would read. */
function codeIn(text: string): string {
  return text.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
