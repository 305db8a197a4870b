// Reads /status/data every 5 seconds while the page is visible, and shows it.

import { showChart } from './charts.js';
import { FORMATS, setText, showTables, showValues } from './figures.js';
import { findKey, lookUp } from './look-up.js';

const EVERY_MS = 5000;
const DEADLINE_MS = 4000;

// Without a user and password of the address bar, which fetch refuses.
const base = location.origin + location.pathname;
const get = (path) => fetch(new URL(path, base), { signal: AbortSignal.timeout(DEADLINE_MS) });
const byId = (id) => document.getElementById(id);

/** @type {StatusData | undefined} */
let last;
/** Whose refusals are asked for. @type {{ client?: string, reason?: string }} */
let asked = {};
let timer;

/** @param {StatusData} data */
function show(data) {
  last = data;
  for (const figure of document.querySelectorAll('figure')) showChart(figure, data.history);
  const view = viewOf(data);
  showValues('value', view);
  showTables(view);
  const { tokens, refusals, unknown_paths: atUnknownPaths } = data.last_minute;
  const nobodyIsServed = tokens === 0 && sumOf(refusals) > sumOf(atUnknownPaths);
  if (data.service.ready) setState('Ready', nobodyIsServed ? 'warn' : 'good', data.summary);
  else setState('Not ready', 'bad', data.summary);
}

const sumOf = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** What the tables show. @param {StatusData} data */
function viewOf(data) {
  const { totals, last_minute, checks, history } = data;
  const ofReason = asked.reason && `For ${asked.reason}, of callers that are not registered too`;
  return {
    ...data,
    now: data.at,
    reasons: Object.entries(totals.refusals)
      .map(([reason, total]) => ({ reason, total, recent: last_minute.refusals[reason] ?? 0 }))
      .sort((a, b) => b.recent - a.recent || b.total - a.total),
    checks: checks.map((check) => {
      const text = check.ready === false ? check.reason : check.note;
      const state = check.ready ? (text ? 'note' : 'ready') : 'not ready';
      return { name: check.name, state, text: text && (check.fix ? `${text}. Fix: ${check.fix}` : text) };
    }),
    history: history.toReversed(),
    whose: ofReason || (asked.client ? `Of ${asked.client}` : 'Each registered client, with its last refusal'),
  };
}

/** The sentence changes all the time, so a screen reader reads the state alone, unless something is wrong. */
function setState(state, style, sentence) {
  setText(byId('now'), sentence);
  byId('now').className = style;
  setText(byId('state'), state === 'Ready' ? state : sentence);
  document.title = `${state} · ${location.host}`;
}

function showFault(cause) {
  const since = last ? ` since ${FORMATS.time(last.at)}, and all figures are from then` : '';
  setState('No response', 'warn', `No response${since}: ${cause}. This page tries again every 5 seconds.`);
}

async function poll() {
  clearTimeout(timer);
  if (document.hidden) return;
  timer = setTimeout(poll, EVERY_MS);
  let data;
  let cause = 'the service cannot be reached, or is too busy';
  try {
    const response = await get(`status/data?${new URLSearchParams(asked)}`);
    if (response.ok) data = await response.json();
    else if (response.status === 401) cause = 'the management token is not accepted any more: reload this page';
    else cause = `the status is ${response.status}`;
  } catch {
    // The cause is the one above.
  }
  if (data) show(data);
  else showFault(cause);
}

/** Shows the refusals of one client or for one reason, or those of all clients. @param {typeof asked} whose */
function ask(whose) {
  asked = whose;
  byId('clients').scrollIntoView({ block: 'nearest' });
  void poll();
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
  ask(client ? { client } : {});
});

/** Links to #request-… look a request up, #refused-… lists those of a reason, and #reason-… opens the list of all reasons. */
function followHash() {
  const [, kind, id] = /^#(request|reason|refused)-(.+)$/.exec(location.hash) ?? [];
  if (kind === 'reason') byId('all-reasons').open = true;
  if (kind === 'refused') {
    byId('client-id').value = '';
    ask({ reason: id });
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
