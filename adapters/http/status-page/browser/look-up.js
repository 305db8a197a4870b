// "Why was this request refused?"

import { showValues } from './figures.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Shows what is known about a request. What is no request id may be a secret, so it is not sent.
 *
 * @param {string} id
 * @param {(path: string) => Promise<Response>} get
 */
export async function lookUp(id, get) {
  const { outcome, record } = UUID.test(id) ? await find(id, get) : { outcome: 'malformed' };
  if (record) showRecord(record);
  for (const part of document.querySelectorAll('[data-outcome]')) part.hidden = part.dataset.outcome !== outcome;
}

async function find(id, get) {
  try {
    const response = await get(`status/refusals/${id}`);
    if (response.status === 404) return { outcome: 'unknown' };
    return response.ok ? { outcome: 'found', record: await response.json() } : { outcome: 'unavailable' };
  } catch {
    return { outcome: 'unavailable' };
  }
}

/** @param {RefusalRecord} record */
function showRecord(record) {
  showValues('refusal', { ...record, now: Date.now() / 1000 });
  // The sentences are in the list of all reasons.
  const explanation = document.getElementById(`reason-${record.reason}`)?.nextElementSibling;
  document.getElementById('explanation').replaceChildren(...(explanation?.cloneNode(true).childNodes ?? []));
}
