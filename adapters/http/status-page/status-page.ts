import type { CheckState } from '../../../application/ports/health-check.ts';
import type { KeyPeriod, RefusalRecord } from '../../../application/ports/telemetry.ts';
import { chart } from './chart.ts';
import { type Html, html, table, timeOf, withCode } from './html.ts';
import type { MinuteOfHistory } from './minute-history.ts';

/** What somebody asked for: a parameter of the page. */
export type LookUp = { readonly request: string } | { readonly client: string };

/** Everything that the page shows. */
export interface StatusOfService {
  /** Now, in seconds since 1970. */
  readonly at: number;
  /** Facts of this replica, by their names. */
  readonly service: Readonly<Record<'version' | 'base_url' | 'issuer' | 'replica', string>>;
  readonly checks: readonly CheckState[];
  readonly minutes: readonly MinuteOfHistory[];
  readonly keys: readonly KeyPeriod[];
  /** The last refusal of each registered client. */
  readonly refused: readonly RefusalRecord[];
  readonly lookUp?: { readonly asked: LookUp; readonly found: readonly RefusalRecord[] } | undefined;
  /** The meaning of a reason, and what to do. */
  readonly meaningOf: (reason: string) => string;
}

/** The page for an operator, without a script. @param style the text of the style sheet. */
export function statusPage(status: StatusOfService, style: Html): string {
  const { service, checks, minutes, keys, refused } = status;
  const isReady = checks.every(({ ready }) => ready);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${isReady ? 'Ready' : 'Not ready'}: authorization server</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<h1>Authorization server</h1>
<p>${service.base_url} · version ${service.version} · replica ${service.replica} · ${timeOf(status.at)} UTC</p>
</header>
<main id="main" tabindex="-1">
<p id="now" class="${isReady ? 'good' : 'bad'}" role="status">${isReady ? 'Ready' : 'Not ready'}</p>
<section aria-labelledby="why"><h2 id="why">Why was this request refused?</h2>${lookUpForms(status)}</section>
<section aria-labelledby="checks"><h2 id="checks">Checks</h2>${table(['Check', 'State', 'What to do'], checks.map(checkRow))}</section>
<section aria-labelledby="hour"><h2 id="hour">The last hour, by minute</h2><div class="columns">
${chart(
  'Tokens and refusals',
  '',
  [
    { name: 'Tokens', of: ({ tokens }) => tokens },
    { name: 'Refusals', of: ({ refusals }) => refusals },
  ],
  minutes,
)}
${chart(
  'Time of responses',
  ' ms',
  [
    { name: 'Half of the tokens', of: ({ p50 }) => p50 },
    { name: '99 % of the tokens', of: ({ p99 }) => p99 },
  ],
  minutes,
)}
</div></section>
<section aria-labelledby="refused"><h2 id="refused">Clients that were refused last</h2>
${table(['Client', 'Reason', 'Address', 'Time'], refused.map(refusedRow), 'No registered client was refused since startup.')}</section>
<section aria-labelledby="keys"><h2 id="keys">Keys that tokens are verified with</h2>
${table(['Key (kid)', 'Algorithm', 'State', 'From', 'Until'], keys.map(keyRow), 'No key is known.')}</section>
</main>
<footer><p>Issuer ${service.issuer} · <a href="metrics">/metrics</a> · <a href="readyz">/readyz</a> · <a href="openapi.json">/openapi.json</a></p></footer>
</body>
</html>
`.text;
}

const STATES = {
  fine: ['good', 'ready'],
  noted: ['warn', 'ready, with a note'],
  broken: ['bad', 'not ready'],
} as const;

function checkRow(check: CheckState): readonly (string | Html)[] {
  const text = check.ready ? check.note : check.reason;
  const [color, state] = STATES[!check.ready ? 'broken' : text === undefined ? 'fine' : 'noted'];
  const sentences = [text, check.fix && `Fix: ${check.fix}`].flatMap((sentence) => (sentence ? `${sentence}.` : []));
  return [check.name, html`<span class="${color}">${state}</span>`, sentences.join(' ')];
}

function keyRow({ kid, alg, state, from, until }: KeyPeriod): readonly (string | Html)[] {
  return [kid, alg, state, timeOf(from), timeOf(until)];
}

function refusedRow({ client_id: id = '', request_id, reason, remote_address, at }: RefusalRecord) {
  const link = html`<a href="?request=${request_id}">${reason}</a>`;
  return [html`<a href="?client=${encodeURIComponent(id)}">${id}</a>`, link, remote_address, timeOf(at)];
}

/** How the browser tells a request id from a secret in the wrong field, which is then not sent. */
const REQUEST_ID = '\\s*[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\\s*';

function lookUpForms({ lookUp, meaningOf }: StatusOfService): Html {
  const asked = { request: '', client: '', ...lookUp?.asked };
  const plain = html`required autocomplete="off" autocapitalize="none" spellcheck="false"`;
  return html`<div class="columns">
<form action="status"><label for="request-id">Request id</label>
<div class="field"><input id="request-id" name="request" value="${asked.request}" ${plain} pattern="${REQUEST_ID}" title="a request id, such as 5f0c8e1e-3b1c-4a53-9a4e-0c2f6d1b7a90" aria-describedby="request-hint">
<button>Look up</button></div>
<p id="request-hint" class="hint"><code>X-Request-Id</code> of the response, or <code>request_id</code> in the log</p></form>
<form action="status"><label for="client-id">Or client id</label>
<div class="field"><input id="client-id" name="client" value="${asked.client}" ${plain} aria-describedby="client-hint">
<button>Show</button></div>
<p id="client-hint" class="hint">The last refusals of a registered client</p></form>
</div>${lookUp && html`<div id="answer" role="status">${answerTo(lookUp.found, meaningOf)}<p><a href="status">Back to the overview, which reloads itself</a></p></div>`}`;
}

function answerTo(found: readonly RefusalRecord[], meaningOf: StatusOfService['meaningOf']): Html {
  if (found.length > 0) return html`${found.map((record) => refusalArticle(record, meaningOf(record.reason)))}`;
  return html`<p>No such refusal is kept here. The request was not refused, it is older than the last refusals of its reason, or another
replica responded. The log has all of them.</p>`;
}

function refusalArticle(record: RefusalRecord, meaning: string): Html {
  const facts = {
    Detail: record.detail,
    Client: record.client_id ?? '–',
    Address: record.remote_address,
    Request: `${record.method} ${record.route}`,
    Response: `${record.status} ${record.error}`,
    Duration: `${Number((record.duration_seconds * 1_000).toPrecision(3))} ms`,
    Unavailable: record.dependency,
    'Request id': record.request_id,
  };
  const rows = Object.entries(facts).filter(([, value]) => value !== undefined);
  return html`<article><h3 class="bad">${record.reason}</h3><p>${withCode(meaning)}</p>
<dl><div><dt>Time</dt><dd>${timeOf(record.at)} UTC</dd></div>${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></article>`;
}
