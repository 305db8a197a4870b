// "Why was this request refused?" and "Why does a resource server refuse our token?"

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
  showOutcome('answer', outcome);
}

/**
 * Shows whether the key of a token is trusted here. Nothing is sent: a token is as good as a password.
 *
 * @param {string} text the `kid`, or the token
 * @param {StatusData['keys']} keys
 */
export function findKey(text, keys) {
  const kid = text.includes('.') ? kidIn(text) : text;
  const state = keys.find((key) => key.kid === kid)?.state;
  showValues('token', /** @type {object} */ ({ kid, state }));
  showOutcome('key-answer', kid === undefined ? 'key-missing' : state === undefined ? 'key-unknown' : 'key-trusted');
}

/** The `kid` in the header of a token, which is base64url of JSON (RFC 7515). */
function kidIn(token) {
  try {
    const header = JSON.parse(atob(token.split('.')[0].replaceAll('-', '+').replaceAll('_', '/')));
    return typeof header.kid === 'string' ? header.kid : undefined;
  } catch {
    return undefined;
  }
}

function showOutcome(place, outcome) {
  for (const part of document.querySelectorAll(`#${place} > [data-outcome]`))
    part.hidden = part.dataset.outcome !== outcome;
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
