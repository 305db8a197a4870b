import { failure, type Result, success } from './result.ts';

/** The algorithms of assertions (RFC 7518 section 3.1, RFC 8037 section 3.1). */
export const ASSERTION_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const;

export type AssertionAlgorithm = (typeof ASSERTION_ALGORITHMS)[number];

/** RFC 9864 names the curve in the algorithm. Libraries write one or the other. */
const EDDSA_BY_CURVE = 'Ed25519';

/** Every name that the header of an assertion may have for these algorithms. */
export const ALGORITHM_NAMES: readonly string[] = [...ASSERTION_ALGORITHMS, EDDSA_BY_CURVE];

/** The algorithm of that name; undefined if it is none of these. */
export function readAlgorithm(name: unknown): AssertionAlgorithm | undefined {
  return name === EDDSA_BY_CURVE ? 'EdDSA' : ASSERTION_ALGORITHMS.find((algorithm) => algorithm === name);
}

/** The public key of a client (RFC 7517), with the fields that its type needs and no others. */
export type PublicJwk = {
  /** Compared exactly with the header of an assertion. */
  readonly kid?: string;
  /** The only algorithm of this key; if undefined, each one of its type. */
  readonly alg?: AssertionAlgorithm;
} & (
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }
  | { readonly kty: 'EC'; readonly crv: 'P-256' | 'P-384'; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }
);

const RSA_BITS_MIN = 2_048;
/** With a larger modulus, one verification takes several times as long. */
const RSA_BITS_MAX = 4_096;
/** 65537, as everybody uses it: with another one, a verification takes another time, which would tell of the key. */
const EXPONENT = 'AQAB';
const KID_MAX_LENGTH = 255;

/** The algorithm of each curve, and the bytes of a coordinate. */
const CURVES = {
  'P-256': { algorithm: 'ES256', bytes: 32 },
  'P-384': { algorithm: 'ES384', bytes: 48 },
  Ed25519: { algorithm: 'EdDSA', bytes: 32 },
} as const;

const PRIVATE_FIELDS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** The algorithms that a key can verify. */
export function algorithmsOf(jwk: PublicJwk): readonly AssertionAlgorithm[] {
  if (jwk.alg !== undefined) return [jwk.alg];
  return jwk.kty === 'RSA' ? ['RS256', 'PS256'] : [CURVES[jwk.crv].algorithm];
}

/**
 * Reads a public key for signatures of assertions, or says which rule it breaks; never with a value. Accepts RSA of
 * 2048 to 4096 bits, P-256, P-384 and Ed25519. Whether a point is on its curve, the adapter that uses the key finds
 * out.
 */
export function readPublicJwk(value: unknown): Result<PublicJwk, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return failure('must be an object');
  const jwk = value as Readonly<Record<string, unknown>>;
  if (PRIVATE_FIELDS.some((field) => jwk[field] !== undefined)) {
    return failure('contains a private or a symmetric key: register only the public key');
  }
  const material = readMaterial(jwk);
  if (!material.ok) return material;
  const { kid, alg, use, key_ops: operations } = jwk;
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > KID_MAX_LENGTH)) {
    return failure(`kid must be a text of 1 to ${KID_MAX_LENGTH} characters`);
  }
  if (use !== undefined && use !== 'sig') return failure('use must be sig');
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return failure('key_ops must include verify');
  }
  const possible = algorithmsOf(material.value);
  const algorithm = readAlgorithm(alg);
  if (alg !== undefined && (algorithm === undefined || !possible.includes(algorithm))) {
    return failure(`alg must be ${possible.join(' or ')}`);
  }
  return success({
    ...material.value,
    ...(kid !== undefined && { kid }),
    ...(algorithm !== undefined && { alg: algorithm }),
  });
}

/** The text whose digest is a key's thumbprint: its required fields in alphabetical order (RFC 7638 section 3). */
export function thumbprintInput(jwk: PublicJwk): string {
  return JSON.stringify(jwk, ['crv', 'e', 'kty', 'n', 'x', 'y']);
}

function readMaterial(jwk: Readonly<Record<string, unknown>>): Result<PublicJwk, string> {
  const { kty, crv, n, e, x, y } = jwk;
  if (kty === 'RSA') {
    const modulus = decodeBase64Url(n);
    if (modulus === undefined) return failure('n must be base64url');
    const bits = bitsOf(modulus);
    if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX) {
      return failure(`an RSA key must have ${RSA_BITS_MIN} to ${RSA_BITS_MAX} bits`);
    }
    if (e !== EXPONENT) return failure(`e must be ${EXPONENT} (65537)`);
    return success({ kty, n: String(n), e: EXPONENT });
  }
  if (kty === 'EC' && (crv === 'P-256' || crv === 'P-384')) {
    const { bytes } = CURVES[crv];
    const isPoint = [x, y].every((coordinate) => decodeBase64Url(coordinate)?.length === bytes);
    if (!isPoint) return failure(`x and y must be base64url of ${bytes} bytes`);
    return success({ kty, crv, x: String(x), y: String(y) });
  }
  if (kty === 'OKP' && crv === 'Ed25519') {
    const { bytes } = CURVES[crv];
    if (decodeBase64Url(x)?.length !== bytes) return failure(`x must be base64url of ${bytes} bytes`);
    return success({ kty, crv, x: String(x) });
  }
  return failure('must be an RSA, P-256, P-384 or Ed25519 key');
}

/** The position of the highest bit that is set; negative if none is. */
function bitsOf(bytes: string): number {
  const significant = bytes.replace(/^\0+/, '');
  return significant.length * 8 - Math.clz32(significant.charCodeAt(0)) + 24;
}

/** Each byte as one character; undefined if the value is not base64url without padding (RFC 7515 section 2). */
function decodeBase64Url(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^[\w-]+$/.test(value) || value.length % 4 === 1) return undefined;
  return atob(value.replaceAll('-', '+').replaceAll('_', '/'));
}
