import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ClientKey } from '../../../domain/client-details.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { type PublicJwk, readPublicJwk } from '../../../domain/public-jwk.ts';
import { EXIT, Problem } from '../outcome.ts';

/** More than ten public keys of the largest kind need. */
const FILE_MAX_BYTES = 65_536;

/**
 * Reads the public keys of a client from a file: a key set (RFC 7517 section 5), or one key. Refuses private keys, so
 * that nobody stores one by mistake. Messages name the rule and the position of a key, and never quote the file.
 */
export async function readJwks(path: string, expiresAt?: number): Promise<readonly ClientKey[]> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) throw new Problem(EXIT.refused, `The file ${path} cannot be read.`);
  const values = text.length <= FILE_MAX_BYTES ? keysOf(text) : undefined;
  if (values === undefined || values.length === 0) {
    throw new Problem(
      EXIT.refused,
      `The file ${path} must contain a JSON Web Key Set, {"keys": [...]}, or one JSON Web Key.`,
    );
  }
  const keys: ClientKey[] = [];
  for (const [position, value] of values.entries()) {
    const jwk = readPublicJwk(value);
    if (!jwk.ok) throw new Problem(EXIT.refused, `The file ${path} is refused: key ${position} ${jwk.problem}.`);
    if (!isKey(jwk.value))
      throw new Problem(EXIT.refused, `The file ${path} is refused: key ${position} is no valid key.`);
    keys.push({ ...jwk.value, ...(expiresAt !== undefined && { expires_at: expiresAt }) });
  }
  return keys;
}

function keysOf(text: string): readonly unknown[] | undefined {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return undefined;
  if ('keys' in value) return Array.isArray(value.keys) ? value.keys : undefined;
  return 'kty' in value ? [value] : undefined;
}

/** Whether the numbers are a key, such as a point that is on its curve. */
function isKey(jwk: PublicJwk): boolean {
  try {
    createPublicKey({ key: { ...jwk }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}
