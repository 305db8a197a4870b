import type { SecretCredentials } from '../../../application/ports/client-credentials.ts';
import { isClientId } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import { ASSERTION_PARAMETERS } from './assertion-parameters.ts';
import type { ReadParameter } from './form.ts';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The client id and secret of `Basic` credentials (`client_secret_basic`), or why they are refused. The body may repeat
 * the client id, and must not use another method (RFC 6749 section 2.3).
 */
export function readBasicCredentials(encoded: string, parameter: ReadParameter): Result<SecretCredentials, HttpReason> {
  if ([...ASSERTION_PARAMETERS, 'client_secret'].some(parameter)) return failure('credentials_repeated');
  const credentials = decodeCredentials(encoded);
  if (credentials === undefined) return failure('basic_credentials_malformed');
  const { clientId, clientSecret } = credentials;
  if (clientId === '' || clientSecret === '') return failure('credentials_missing');
  if (!isClientId(clientId)) return failure('client_id_malformed');
  const repeated = parameter('client_id');
  return repeated === undefined || repeated === clientId ? success(credentials) : failure('client_id_contradictory');
}

/**
 * Base64 of the id and the secret, each form-encoded, with a colon between (RFC 6749 section 2.3.1, RFC 7617 section
 * 2); undefined if it is malformed. They are split at the first colon and decoded afterwards, so an encoded colon
 * belongs to the id or the secret.
 */
function decodeCredentials(credentials: string): SecretCredentials | undefined {
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
