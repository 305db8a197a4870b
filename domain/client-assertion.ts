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
  /** What a grant asks for, if that is a text: some clients write it here. */
  readonly scope?: string | undefined;
}

const COMPACT_JWS = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

/** No identity token of a platform comes close. */
const MAX_LENGTH = 12 * 1024;
const TEXT_MAX_LENGTH = 2_000;

/**
 * Values in a header or in claims, fields and elements, of which objects and arrays count twice, and how deep they are
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
   * Parses the compact form (RFC 7515 section 7.1) with the claims that RFC 7523 section 3 requires, or says what is
   * wrong, without a value. An assertion with critical extensions (`crit`, `b64`) is malformed too, since this service
   * understands none.
   */
  static parse(compact: string): Result<ClientAssertion, string> {
    if (compact.length > MAX_LENGTH) return failure('it is longer than 12 KiB');
    if (/^\s|\s$/.test(compact)) return failure('it begins or ends with a space or a line break');
    const [, first, second] = COMPACT_JWS.exec(compact) ?? [];
    if (first === undefined || second === undefined) return failure('it is no signed JWT in its compact form');
    const [header, payload] = [readObject(first), readObject(second)];
    if (header === undefined || payload === undefined) {
      const part = header === undefined ? 'header' : 'second part';
      return failure(`its ${part} is no JSON object of moderate size, in base64url, that has each field once`);
    }
    const fault =
      faultOf(header, ['alg', 'kid', 'typ']) ?? faultOf(payload, ['sub', 'aud', 'exp', 'iss', 'jti', 'iat', 'nbf']);
    if (fault !== undefined) return failure(fault);
    if ('crit' in header || 'b64' in header) return failure('crit and b64 are not understood');
    const { alg, kid, typ } = header as Fields & AssertionHeader;
    const { iss, sub, aud, exp, iat, nbf, jti, scope } = payload as Fields & SentClaims;
    const asked = typeof scope === 'string' ? scope : undefined;
    const claims = { iss, sub, aud: [aud].flat(), exp, iat, nbf, jti, scope: asked };
    return success(new ClientAssertion(compact, { alg, kid, typ }, claims));
  }

  /**
   * Every claim, for conditions on claims that this service does not know. Parsed at each call: objects need up to
   * twenty times the memory of their text, and an assertion waits for look-ups and its verification.
   */
  readPayload(): Readonly<Record<string, unknown>> {
    return readObject(this.#compact.split('.')[1] ?? '') ?? {};
  }

  /** The compact form, with its signature: a credential, for verification and nothing else. */
  reveal(): string {
    return this.#compact;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** The claims as they were sent. */
type SentClaims = Omit<AssertionClaims, 'aud'> & { readonly aud: string | readonly string[] };

const REQUIRED = ['alg', 'sub', 'aud', 'exp'];
const TIMES = ['exp', 'iat', 'nbf'];

/**
 * What is wrong with one of these fields, without its value. Times are numbers; all others are texts, and `aud` may be
 * several.
 */
function faultOf(fields: Fields, names: readonly string[]): string | undefined {
  const isGood = (name: string, value: unknown) => {
    if (value === undefined) return !REQUIRED.includes(name);
    if (name === 'aud' && Array.isArray(value)) return value.length > 0 && value.every(isText);
    return TIMES.includes(name) ? isTime(value) : isText(value);
  };
  const name = names.find((one) => !isGood(one, fields[one]));
  if (name === undefined) return undefined;
  const kind = TIMES.includes(name)
    ? 'number of seconds since the epoch'
    : `text of 1 to ${TEXT_MAX_LENGTH} characters`;
  return `${name} is ${fields[name] === undefined ? 'missing' : `no ${kind}`}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_MAX_LENGTH;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function readObject(encoded: string): Fields | undefined {
  try {
    const value = parseJson(decodeText(encoded), VALUES_MAX, DEPTH_MAX);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Fields) : undefined;
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
