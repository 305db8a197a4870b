import { readFileSync } from 'node:fs';
import { CHANGING_REGISTRATIONS } from '../../../application/refusal-meanings.ts';
import { type Exchange, sendRefusal } from '../server/exchange.ts';
import { httpRefusal } from '../server/http-refusal.ts';
import type { Access, Route } from '../server/koa-application.ts';
import { ALL_MEANINGS } from './reason-meanings.ts';
import type { ServiceStatus } from './service-status.ts';

export const STATUS_PAGE_PATH = '/status';

/** What the page loads, below its path. */
const FILES = ['app.js', 'charts.js', 'figures.js', 'look-up.js', 'style.css'];

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

interface StatusPageParts {
  readonly access: Access;
  readonly status: ServiceStatus;
  /** Where they are, so that the advice fits. */
  readonly registrations: 'file' | 'database';
}

/** The status page with its files, which are read once, now, and its data, for the operator. Throws if a file is missing. */
export function statusPageRoutes({ access, status, registrations }: StatusPageParts): readonly Route[] {
  const textOf = (file: string) => readFileSync(new URL(`browser/${file}`, import.meta.url), 'utf8');
  const page = textOf('page.html')
    .replace('<!-- reasons -->', () => reasonList(registrations === 'file' ? IN_FILE : ''))
    .replace('<!-- shared keys -->', registrations === 'file' ? '' : '<code>KEY_DIRECTORY=database</code> or ');
  return [
    { path: '/', access, methods: { GET: toPage } },
    { path: '/status/data', access, methods: { GET: (ctx) => data(ctx, status) } },
    { path: '/status/refusals/:request_id', access, methods: { GET: (ctx) => refusal(ctx, status) } },
    fileRoute(access, STATUS_PAGE_PATH, 'html', page),
    ...FILES.map((name) =>
      fileRoute(access, `${STATUS_PAGE_PATH}/${name}`, name.endsWith('.js') ? 'js' : 'css', textOf(name)),
    ),
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
  const [clientId, reason] = [parameters.get('client'), parameters.get('reason')];
  respond(ctx, await status.data(clientId ? { clientId } : reason ? { reason } : undefined));
}

async function refusal(ctx: Exchange, status: ServiceStatus): Promise<void> {
  const found = status.findRefusal(ctx.path.slice(ctx.path.lastIndexOf('/') + 1));
  if (found === undefined) return sendRefusal(ctx, httpRefusal('resource_unknown'));
  respond(ctx, found);
}

/** Browsers send the operator's password with every request: other sites must not be able to embed the response. */
function respond(ctx: Exchange, body: object): void {
  ctx.set({ 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' });
  ctx.status = 200;
  ctx.body = body;
}

const IN_FILE = ' Here, registrations are in `CLIENTS_FILE`: change it, and restart the service.';

/** The reasons and what they mean, for a list of definitions. */
function reasonList(howToChange: string): string {
  return Object.entries(ALL_MEANINGS)
    .map(([reason, meaning]) => {
      const text = codeIn(CHANGING_REGISTRATIONS.has(reason) ? `${meaning}${howToChange}` : meaning);
      return `<dt id="reason-${reason}"><code>${reason}</code></dt><dd>${text}</dd>`;
    })
    .join('\n');
}

/** Our own texts: they have backticks around code, and nothing that HTML would read. */
function codeIn(text: string): string {
  return text.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
