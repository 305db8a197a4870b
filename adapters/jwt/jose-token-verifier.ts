import { compactVerify, errors } from 'jose';
import type { VerificationKeys } from '../../application/ports/key-provider.ts';
import type { TokenDefect, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { isAccessTokenClaims, TOKEN_LENGTH_MAX } from '../../domain/access-token-claims.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { readTokenAlgorithm } from '../../domain/token-key.ts';
import { algorithmOf } from './algorithms.ts';

const COMPACT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;
// An escape that is still there after parsing and writing again: half of a pair of surrogates, which some readers replace.
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud/;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Verifies with jose and the trusted key that the token names. */
export function joseTokenVerifier(keys: VerificationKeys): TokenVerifier {
  return {
    async verify(token) {
      const payload = await verifyCompactJws(token, keys);
      if (!payload.ok) return payload;
      const claims = parseUnambiguously(payload.value);
      return isAccessTokenClaims(claims) ? success(claims) : failure('token_claims_malformed');
    },
  };
}

/**
 * The payload of a compact JWS (RFC 7515 section 5.2) that a trusted key signed, in its one exact form.
 *
 * jose accepts white space in the signature and changed spare bits, which would give one token many spellings, and a missing `kid`;
 * so the form is checked first. The algorithm is that of the key, and the token has to name it (RFC 8725 section 3.1).
 */
export async function verifyCompactJws(
  token: string,
  keys: VerificationKeys,
): Promise<Result<Uint8Array, TokenDefect>> {
  if (!isExactForm(token)) return failure('token_malformed');

  const header = readHeader(token);
  if (header === undefined || typeof header.kid !== 'string') return failure('token_malformed');
  // RFC 8725 section 3.11: a token of another kind that the same key signed is not an access token.
  if (header.typ !== undefined && header.typ !== 'at+jwt') return failure('token_malformed');
  if (readTokenAlgorithm(header.alg) === undefined) return failure('token_algorithm_refused');

  const key = await keys.verificationKey(header.kid);
  if (key === undefined) return failure('token_key_unknown');
  const algorithm = algorithmOf(key);
  if (algorithm === undefined || header.alg !== algorithm) return failure('token_algorithm_refused');
  try {
    const { payload } = await compactVerify(token, key, { algorithms: [algorithm] });
    return success(payload);
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return failure('token_signature_wrong');
    if (error instanceof errors.JOSEError) return failure('token_malformed');
    throw error;
  }
}

function isExactForm(token: string): boolean {
  return token.length <= TOKEN_LENGTH_MAX && COMPACT_FORM.test(token) && token.split('.').every(isCanonicalBase64url);
}

/** Whether this is the only spelling of its bytes: the unused bits of the last character are zero (RFC 4648 section 3.5). */
function isCanonicalBase64url(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part;
}

/** The header, unless it is ambiguous or has `b64` (RFC 7797), which would change what is signed. */
function readHeader(token: string): { alg?: unknown; kid?: unknown; typ?: unknown } | undefined {
  const header = parseUnambiguously(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url'));
  return typeof header === 'object' && header !== null && !('b64' in header) ? header : undefined;
}

/**
 * The JSON value of these bytes, or undefined if two readers could differ on them. Repeated fields, numbers such as
 * `1e400` or `1.0`, needless escapes, white space and invalid UTF-8 do not survive parsing and writing again. Our own
 * signer writes none of them, and no half of a pair of surrogates.
 */
function parseUnambiguously(bytes: Uint8Array): unknown {
  try {
    const text = UTF8.decode(bytes);
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text && !LONE_SURROGATE.test(text) ? value : undefined;
  } catch {
    return undefined;
  }
}
