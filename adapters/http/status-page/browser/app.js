// Reads /status/data every 5 seconds while the page is visible, and shows it.

import { Chart } from './charts.js';
import { setText, showTables, showValues } from './figures.js';
import { FORMATS } from './format.js';
import { lookUp } from './look-up.js';
import { addSamples, pointsOf } from './samples.js';
import { viewOf } from './view.js';

const EVERY_MS = 5000;
const DEADLINE_MS = 4000;
const WINDOW_SECONDS = 60;
const TABLE_ROWS = 12;

// Without a user and password of the address bar, which fetch refuses.
const base = location.origin + location.pathname;
const get = (path) => fetch(new URL(path, base), { signal: AbortSignal.timeout(DEADLINE_MS) });
const byId = (id) => document.getElementById(id);

const charts = [...document.querySelectorAll('.chart')].map((figure) => new Chart(figure));
let samples = [];
/** Of the last minute, oldest first. @type {StatusData[]} */
let answers = [];
let client = '';
let timer;

/** @param {StatusData} data */
function show(data) {
  const { at, service, checks } = data;
  const before = answers.at(-1);
  // A new process counts from zero, and a clock may be set back.
  if (before?.service.started_at !== service.started_at || at < before.at) [samples, answers] = [[], []];
  samples = addSamples(samples, data.history, at);
  answers = [...answers.filter((answer) => answer.at >= at - WINDOW_SECONDS), data];

  const points = pointsOf(samples);
  for (const chart of charts) chart.show(points);
  const every = Math.ceil(points.length / TABLE_ROWS);
  const rows = points.filter((_, index) => (points.length - 1 - index) % every === 0).reverse();
  const view = { ...viewOf(data, answers.length > 1 ? answers[0] : undefined, client), points: rows };
  showValues('figure', view);
  showTables(view);

  const faults = checks.flatMap((check) => (check.ready === false ? `${check.name}: ${check.reason}` : []));
  if (service.ready) setState('Ready', 'good');
  else setState('Not ready', 'bad', `This replica is not ready. ${faults.join('; ')}.`);
}

/** @param {'good' | 'warn' | 'bad'} style */
function setState(text, style, notice = '') {
  setText(byId('state'), text);
  byId('state').className = `pill ${style}`;
  setText(byId('notice'), notice);
  document.title = `${text} · ${location.host}`;
}

function showFault(cause) {
  const last = answers.at(-1);
  const since = last ? ` since ${FORMATS.time(last.at)}, and all figures are from then` : '';
  setState('No answer', 'warn', `No answer${since}: ${cause}. This page tries again every 5 seconds.`);
}

async function poll() {
  clearTimeout(timer);
  if (document.hidden) return;
  timer = setTimeout(poll, EVERY_MS);
  const query = new URLSearchParams({ since: `${samples.at(-1)?.at ?? 0}`, ...(client && { client }) });
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

function ask(id) {
  byId('request-id').value = id;
  void lookUp(id.trim().toLowerCase(), get);
}

byId('look-up').addEventListener('submit', (event) => {
  event.preventDefault();
  ask(byId('request-id').value);
});
byId('find-client').addEventListener('submit', (event) => {
  event.preventDefault();
  client = byId('client-id').value.trim();
  void poll();
});

/** Links to #request-… look a request up, and those to #reason-… open the list of all reasons. */
function followHash() {
  const [, kind, id] = /^#(request|reason)-(.+)$/.exec(location.hash) ?? [];
  if (kind === 'reason') byId('all-reasons').open = true;
  if (kind !== 'request') return;
  byId('request-id').focus();
  ask(id);
}
addEventListener('hashchange', followHash);
document.addEventListener('visibilitychange', poll);
followHash();
void poll();
