import { parseJson } from './parse-json.ts';
import { failure, type Result, success } from './result.ts';

/** The header of an assertion (RFC 7515 section 4.1), as far as it is read. Nothing in it is verified. */
interface AssertionHeader {
  readonly alg: string;
  readonly kid?: string | undefined;
  readonly typ?: string | undefined;
}

/** The claims of an assertion (RFC 7523 section 3). Nothing in them is verified. */
interface AssertionClaims {
  readonly iss?: string | undefined;
  readonly sub: string;
  /** One or several. */
  readonly aud: readonly string[];
  /** Times in seconds since the epoch; fractions are possible (RFC 7519 section 2). */
  readonly exp: number;
  readonly iat?: number | undefined;
  readonly nbf?: number | undefined;
  readonly jti?: string | undefined;
}

const COMPACT_JWS = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

/** No identity token of a platform comes close. */
const MAX_LENGTH = 12 * 1024;
const TEXT_MAX_LENGTH = 2_000;

/**
 * Values in a header or in claims, members and elements, of which objects and arrays count twice, and how deep they are
 * nested. Platforms write up to 250, and 5.
 */
const VALUES_MAX = 1_000;
const DEPTH_MAX = 16;

const UTF8 = { fatal: true, ignoreBOM: true };

/** A client assertion as it was presented: a JWT in its compact form, whose parts are read and not verified yet. */
export class ClientAssertion {
  readonly header: AssertionHeader;
  readonly claims: AssertionClaims;
  readonly #compact: string;

  private constructor(compact: string, header: AssertionHeader, claims: AssertionClaims) {
    this.#compact = compact;
    this.header = header;
    this.claims = claims;
  }

  /**
   * Parses the compact form (RFC 7515 section 7.1) with the claims that RFC 7523 section 3 requires. An assertion with
   * critical extensions (`crit`, `b64`) is malformed too, since this service understands none.
   */
  static parse(compact: string): Result<ClientAssertion, 'assertion_malformed'> {
    const [, first = '', second = ''] = compact.length <= MAX_LENGTH ? (COMPACT_JWS.exec(compact) ?? []) : [];
    const [header, payload] = [readObject(first), readObject(second)];
    if (!isHeader(header) || !isPayload(payload)) return failure('assertion_malformed');
    const { alg, kid, typ } = header;
    const { iss, sub, aud, exp, iat, nbf, jti } = payload;
    const claims = { iss, sub, aud: [aud].flat(), exp, iat, nbf, jti };
    return success(new ClientAssertion(compact, { alg, kid, typ }, claims));
  }

  /**
   * Every claim, for conditions on claims that this service does not know. Parsed at each call: objects need up to twenty
   * times the memory of their text, and an assertion waits for look-ups and its verification.
   */
  readPayload(): Readonly<Record<string, unknown>> {
    return readObject(this.#compact.split('.')[1] ?? '') ?? {};
  }

  /** The compact form, with its signature: a credential, for verification and nothing else. */
  reveal(): string {
    return this.#compact;
  }
}

type Members = Readonly<Record<string, unknown>>;

/** The claims as they were sent. */
type SentClaims = Omit<AssertionClaims, 'aud'> & { readonly aud: string | readonly string[] };

function isHeader(header: Members = {}): header is Members & AssertionHeader {
  const { alg, kid, typ, crit, b64 } = header;
  if (crit !== undefined || b64 !== undefined) return false;
  return isText(alg) && isOptional(kid, isText) && isOptional(typ, isText);
}

function isPayload(payload: Members = {}): payload is Members & SentClaims {
  const { iss, sub, aud, exp, iat, nbf, jti } = payload;
  const isAudience = isText(aud) || (Array.isArray(aud) && aud.length > 0 && aud.every(isText));
  return (
    isText(sub) &&
    isAudience &&
    isTime(exp) &&
    isOptional(iss, isText) &&
    isOptional(jti, isText) &&
    isOptional(iat, isTime) &&
    isOptional(nbf, isTime)
  );
}

function isOptional(value: unknown, isGood: (value: unknown) => boolean): boolean {
  return value === undefined || isGood(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_MAX_LENGTH;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function readObject(encoded: string): Members | undefined {
  try {
    const value = parseJson(decodeText(encoded), VALUES_MAX, DEPTH_MAX);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Members) : undefined;
  } catch {
    // Not base64 or not UTF-8.
    return undefined;
  }
}

/** The UTF-8 text of a part. Throws if it is not base64 or not UTF-8. */
function decodeText(encoded: string): string {
  const bytes = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'));
  // ASCII, as most issuers write, is its own UTF-8. Decoding it byte by byte would take as long as a verification.
  if (!/[\u0080-\u00ff]/.test(bytes)) return bytes;
  return new TextDecoder('utf-8', UTF8).decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}
