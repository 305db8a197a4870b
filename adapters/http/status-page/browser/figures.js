// Shows figures where page.html says: data-figure="path format", data-rows="name" with data-cell="member format" for each column.

import { format } from './format.js';

const STYLES = {
  __proto__: null,
  ready: 'good',
  'not ready': 'bad',
  note: 'warn',
  signing: 'good',
  unavailable: 'bad',
};

/** Changes a text only if it differs: a screen reader may read it again. */
export function setText(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

const valueAt = (view, path) => path.split('.').reduce((value, name) => value?.[name], view);

/** @param {'figure' | 'refusal' | 'token'} kind @param {{ now?: number }} view */
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

/** Rows and cells that stay the same are left alone, with their focus and selection. */
function showRows(table, records, now) {
  const columns = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const old = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  records.forEach((record, index) => {
    const key = String(record.key ?? Object.values(record)[0]);
    const row = old.get(key) ?? newRow(columns);
    old.delete(key);
    row.dataset.key = key;
    for (const column of columns) showCell(row.cells[column.cellIndex], column, record, now);
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null);
  });
  for (const row of old.values()) row.remove();
  table.hidden = records.length === 0;
}

/** The roles hold when a narrow page shows rows as blocks. */
function newRow(columns) {
  const row = document.createElement('tr');
  row.setAttribute('role', 'row');
  for (const { textContent } of columns) {
    const cell = document.createElement(row.cells.length === 0 ? 'th' : 'td');
    cell.setAttribute('role', row.cells.length === 0 ? 'rowheader' : 'cell');
    cell.dataset.column = textContent;
    row.append(cell);
  }
  return row;
}

function showCell(cell, { dataset, className }, record, now) {
  const [member, name = 'text'] = dataset.cell.split(' ');
  const text = format(name, record[member], now);
  if (cell.textContent === text) return;
  cell.className = `${className} ${STYLES[text] ?? ''}`;
  cell.textContent = text;
  if (!dataset.link || text === '–') return;
  const link = document.createElement('a');
  link.href = dataset.link.replace(/\{(\w+)\}/, (_, name) => encodeURIComponent(record[name]));
  link.textContent = text;
  cell.replaceChildren(link);
}
