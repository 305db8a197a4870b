// Shows values where page.html says: data-value="path format", data-rows="name" with data-cell="field format" for each column.

const rounded = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

const digits = (value) => (Math.abs(value) < 1000 ? precise : rounded).format(value);
const time = (at) => clock.format(at * 1000);

function when(at, now) {
  const date = day.format(at * 1000);
  return date === day.format(now * 1000) ? time(at) : `${date}, ${time(at)}`;
}

function duration(seconds) {
  if (seconds < 100) return `${Math.round(seconds)}\u00a0s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)}\u00a0min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)}\u00a0h` : `${Math.round(seconds / 86_400)}\u00a0days`;
}

const distance = (at, now) => (at > now ? `in\u00a0${duration(at - now)}` : `${duration(now - at)}\u00a0ago`);

/** A value as people read it, by the names that page.html uses. Times and now are in seconds since 1970. */
export const FORMATS = {
  text: String,
  optional: String,
  whole: (value) => rounded.format(value),
  rate: (value) => `${digits(value)}/s`,
  milliseconds: (value) => `${digits(value * 1000)} ms`,
  time,
  distance,
  both: (at, now) => `${when(at, now)} (${distance(at, now)})`,
};

/** What is not known is a dash. */
export function format(name, value, now = 0) {
  const missing = name === 'optional' ? '' : '–';
  return value === null || value === undefined ? missing : FORMATS[name](value, now);
}

const STYLES = { __proto__: null, ready: 'good', signing: 'good', note: 'warn', 'not ready': 'bad' };

/** Changes a text only if it differs: a screen reader may read it again. */
export function setText(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

const valueAt = (view, path) => path.split('.').reduce((value, name) => value?.[name], view);

/** @param {'value' | 'refusal' | 'token'} kind @param {{ now?: number }} view */
export function showValues(kind, view) {
  for (const place of document.querySelectorAll(`[data-${kind}]`)) {
    const [path, name = 'text'] = place.dataset[kind].split(' ');
    setText(place, format(name, valueAt(view, path), view.now));
  }
}

/** @param {{ now: number }} view */
export function showTables(view) {
  for (const table of document.querySelectorAll('[data-rows]')) showRows(table, view[table.dataset.rows], view.now);
}

/** A row is known by its first value. Rows and cells that stay the same are left alone, with their focus and selection. */
function showRows(table, records, now) {
  const columns = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const old = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  records.forEach((record, index) => {
    const key = String(Object.values(record)[0]);
    const row = old.get(key) ?? document.createElement('tr');
    old.delete(key);
    row.dataset.key = key;
    while (row.cells.length < columns.length) row.append(document.createElement(row.cells.length === 0 ? 'th' : 'td'));
    for (const column of columns) showCell(row.cells[column.cellIndex], column, record, now);
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null);
  });
  for (const row of old.values()) row.remove();
  table.hidden = records.length === 0;
}

function showCell(cell, { dataset, className }, record, now) {
  const [field, name = 'text'] = dataset.cell.split(' ');
  const text = format(name, record[field], now);
  if (cell.textContent === text) return;
  cell.className = `${className} ${STYLES[text] ?? ''}`;
  cell.textContent = text;
  if (!dataset.link || text === '–') return;
  const link = document.createElement('a');
  link.href = dataset.link.replace(/\{(\w+)\}/, (_, name) => encodeURIComponent(record[name]));
  link.textContent = text;
  cell.replaceChildren(link);
}
