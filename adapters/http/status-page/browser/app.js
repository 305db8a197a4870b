// Reads /status/data every 5 seconds while the page is visible, and shows it.

import { Chart } from './charts.js';
import { setText, showTables, showValues } from './figures.js';
import { FORMATS } from './format.js';
import { findKey, lookUp } from './look-up.js';
import { addSamples, pointsOf, viewOf } from './view.js';

const EVERY_MS = 5000;
const DEADLINE_MS = 4000;
const TABLE_ROWS = 12;

// Without a user and password of the address bar, which fetch refuses.
const base = location.origin + location.pathname;
const get = (path) => fetch(new URL(path, base), { signal: AbortSignal.timeout(DEADLINE_MS) });
const byId = (id) => document.getElementById(id);

const charts = [...document.querySelectorAll('.chart')].map((figure) => new Chart(figure));
let samples = [];
/** @type {StatusData | undefined} */
let last;
/** Whose refusals are asked for. @type {{ client?: string, reason?: string }} */
let asked = {};
let timer;

/** @param {StatusData} data */
function show(data) {
  const { at, service, summary } = data;
  // A new process counts from zero, and a clock may be set back.
  if (last?.service.started_at !== service.started_at || at < last.at) samples = [];
  samples = addSamples(samples, data.history, at);
  last = data;

  const points = pointsOf(samples);
  for (const chart of charts) chart.show(points);
  const every = Math.ceil(points.length / TABLE_ROWS);
  const rows = points.filter((_, index) => (points.length - 1 - index) % every === 0).reverse();
  const view = { ...viewOf(data, asked), points: rows };
  showValues('figure', view);
  showTables(view);
  if (service.ready) setState('Ready', 'good', '', summary);
  else setState('Not ready', 'bad', summary);
}

/** @param {'good' | 'warn' | 'bad'} style */
function setState(text, style, notice, summary = '') {
  setText(byId('state'), text);
  byId('state').className = `pill ${style}`;
  setText(byId('notice'), notice);
  setText(byId('summary'), summary);
  document.title = `${text} · ${location.host}`;
}

function showFault(cause) {
  const since = last ? ` since ${FORMATS.time(last.at)}, and all figures are from then` : '';
  setState('No answer', 'warn', `No answer${since}: ${cause}. This page tries again every 5 seconds.`);
}

async function poll() {
  clearTimeout(timer);
  if (document.hidden) return;
  timer = setTimeout(poll, EVERY_MS);
  const query = new URLSearchParams({ since: `${samples.at(-1)?.at ?? 0}`, ...asked });
  let data;
  let cause = 'the service cannot be reached, or is too busy';
  try {
    const response = await get(`status/data?${query}`);
    if (response.ok) data = await response.json();
    else if (response.status === 401) cause = 'the management token is not accepted any more: reload this page';
    else cause = `the status is ${response.status}`;
  } catch {
    // The cause is the one above.
  }
  if (data) show(data);
  else showFault(cause);
}

/** Calls the function with what was entered. */
function onSubmit(form, field, use) {
  byId(form).addEventListener('submit', (event) => {
    event.preventDefault();
    use(byId(field).value.trim());
  });
}
onSubmit('look-up', 'request-id', (id) => lookUp(id.toLowerCase(), get));
onSubmit('find-key', 'kid', (text) => findKey(text, last?.keys ?? []));
onSubmit('find-client', 'client-id', (client) => {
  asked = client ? { client } : {};
  void poll();
});

/** Links to #request-… look a request up, #refused-… lists those of a reason, and #reason-… opens the list of all reasons. */
function followHash() {
  const [, kind, id] = /^#(request|reason|refused)-(.+)$/.exec(location.hash) ?? [];
  if (kind === 'reason') byId('all-reasons').open = true;
  if (kind === 'refused') {
    asked = { reason: id };
    byId('client-id').value = '';
    byId('clients').scrollIntoView();
    void poll();
  }
  if (kind !== 'request') return;
  byId('request-id').focus();
  byId('request-id').value = id;
  void lookUp(id.trim().toLowerCase(), get);
}
addEventListener('hashchange', followHash);
document.addEventListener('visibilitychange', poll);
followHash();
void poll();
