const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON value of bytes that can be read in one way only, or undefined. A member said twice, a number such as `1e400`
 * or `1.0`, an escape where none is needed, white space, and bytes that are no UTF-8 do not survive the way there and
 * back. Our own signer writes none of them, and two readers of one token could differ on them.
 */
export function parseUnambiguously(bytes: Uint8Array): unknown {
  try {
    const text = UTF8.decode(bytes);
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
