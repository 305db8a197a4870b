import { failure, type Result, success } from '../../../domain/result.ts';
import type { HttpReason } from '../server/refusals.ts';

export const PARAMETERS_MAX = 50;

/**
 * Reads application/x-www-form-urlencoded (WHATWG URL section 5.1) into a flat map, strictly: percent-encoding that is
 * broken, bytes that are no UTF-8 and a name that comes twice are refused instead of repaired, since repairing would let
 * two readers of one request see different credentials. Brackets and dots in a name mean nothing.
 */
export function readFormParameters(text: string): Result<ReadonlyMap<string, string>, HttpReason> {
  const pairs = text.split('&').filter((pair) => pair !== '');
  if (pairs.length > PARAMETERS_MAX) return failure('parameters_too_many');

  const parameters = new Map<string, string>();
  for (const pair of pairs) {
    const separator = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const name = decode(pair.slice(0, separator));
    const value = decode(pair.slice(separator + 1));
    if (name === undefined || value === undefined) return failure('form_encoding_malformed');
    if (parameters.has(name)) return failure('parameter_repeated');
    parameters.set(name, value);
  }
  return success(parameters);
}

function decode(encoded: string): string | undefined {
  if (!/[%+]/.test(encoded)) return encoded;
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
