import { compactVerify, errors } from 'jose';
import type { VerificationKeys } from '../../application/ports/key-provider.ts';
import type { TokenDefect } from '../../application/ports/token-verifier.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { parseUnambiguously } from './parse-unambiguously.ts';

/** In characters. What is longer is refused before anything is decoded; a request's header fields may have 16 KiB in all. */
const TOKEN_MAX_LENGTH = 12 * 1024;

const COMPACT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * The payload of a compact JWS (RFC 7515 section 5.2) that a trusted key signed with RS256, in its one exact form.
 *
 * jose alone accepts white space in the signature and changed spare bits, which would give one token many spellings,
 * and a missing `kid`; so the form is checked first. The only algorithm is named here, never taken from the token.
 */
export async function verifyCompactJws(
  token: string,
  keys: VerificationKeys,
): Promise<Result<Uint8Array, TokenDefect>> {
  if (!isExactForm(token)) return failure('token_malformed');

  const header = readHeader(token);
  if (header === undefined || typeof header.kid !== 'string') return failure('token_malformed');
  // RFC 8725 section 3.11: a token of another kind that the same key signed is not taken for this one.
  if (header.typ !== undefined && header.typ !== 'at+jwt') return failure('token_malformed');
  if (header.alg !== 'RS256') return failure('token_algorithm_refused');

  const key = await keys.verificationKey(header.kid);
  if (key === undefined) return failure('token_key_unknown');
  try {
    const { payload } = await compactVerify(token, key, { algorithms: ['RS256'] });
    return success(payload);
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return failure('token_signature_wrong');
    if (error instanceof errors.JOSEError) return failure('token_malformed');
    throw error;
  }
}

function isExactForm(token: string): boolean {
  return token.length <= TOKEN_MAX_LENGTH && COMPACT_FORM.test(token) && token.split('.').every(isCanonicalBase64url);
}

/** Whether no second spelling of the same bytes was used: the unused bits of the last character are zero (RFC 4648 section 3.5). */
function isCanonicalBase64url(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part;
}

/** The header, where it can be read in one way only: no member twice, no escapes, no white space, no `b64` (RFC 7797), which would change what is signed. */
function readHeader(token: string): { alg?: unknown; kid?: unknown; typ?: unknown } | undefined {
  const header = parseUnambiguously(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url'));
  return typeof header === 'object' && header !== null && !('b64' in header) ? header : undefined;
}
