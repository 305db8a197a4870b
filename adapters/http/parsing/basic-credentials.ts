import type { SecretCredentials } from '../../../application/ports/client-credentials.ts';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The client id and secret of `Basic` credentials, or undefined if they are malformed: base64 of the id and the secret, each
 * form-encoded, with a colon between (RFC 6749 section 2.3.1, RFC 7617 section 2). They are split at the first colon and
 * decoded afterwards, so an encoded colon belongs to the id or the secret.
 */
export function readBasicCredentials(credentials: string): SecretCredentials | undefined {
  // Buffer.from skips what is not base64. Two readers of one header must not see different secrets.
  if (!BASE64.test(credentials) || credentials.replace(/=+$/, '').length % 4 === 1) return undefined;
  try {
    const text = UTF8.decode(Buffer.from(credentials, 'base64'));
    const colon = text.indexOf(':');
    if (colon < 0) return undefined;
    return { clientId: decode(text.slice(0, colon)), clientSecret: decode(text.slice(colon + 1)) };
  } catch {
    // Not UTF-8, or broken percent-encoding.
    return undefined;
  }
}

function decode(encoded: string): string {
  return decodeURIComponent(encoded.replaceAll('+', ' '));
}
