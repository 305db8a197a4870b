/** Tags of ASN.1 (ITU-T X.690 section 8). */
const INTEGER = 0x02;
const SEQUENCE = 0x30;

/**
 * The signature of a JWS with ECDSA, `r` and `s` one after the other (RFC 7518 section 3.4), in DER as OpenSSL reads it
 * (ECDSA-Sig-Value, RFC 3279 section 2.2.3). For curves of up to 384 bits, whose lengths fit into one byte.
 *
 * node:crypto converts it too, if it gets the key among options; but then it costs as much as a third of a verification to
 * find out that the options themselves are no key.
 */
export function ecdsaDerSignature(signature: Buffer): Buffer {
  const half = signature.length / 2;
  const members = [...derInteger(signature.subarray(0, half)), ...derInteger(signature.subarray(half))];
  return Buffer.from([SEQUENCE, members.length, ...members]);
}

/** The order of P-256 (SEC 2, section 2.4.2). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const HALF_ORDER = Buffer.from((ORDER >> 1n).toString(16), 'hex');

/** The signature of a JWS with ES256, from DER: two numbers of 32 bytes. Of the two that are right, `isLowS`. */
export function es256Signature(der: Buffer): Buffer {
  const signature = Buffer.alloc(64);
  // A sequence of two integers, each behind its tag and its length.
  const first = der[3] ?? 0;
  signature.set(der.subarray(4 + Math.max(0, first - 32), 4 + first), Math.max(0, 32 - first));
  const second = der[5 + first] ?? 0;
  signature.set(der.subarray(6 + first + Math.max(0, second - 32)), Math.max(32, 64 - second));
  if (isLowS(signature)) return signature;
  const other = ORDER - BigInt(`0x${signature.toString('hex', 32)}`);
  signature.write(other.toString(16).padStart(64, '0'), 32, 'hex');
  return signature;
}

/** Whether the second number is the smaller one of two: with the order minus it, the signature would be right too. */
export function isLowS(signature: Uint8Array): boolean {
  return Buffer.compare(signature.subarray(32), HALF_ORDER) <= 0;
}

/** Without zeros in front, except one that keeps the number positive. */
function derInteger(unsigned: Buffer): readonly number[] {
  const first = unsigned.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? unsigned.subarray(-1) : unsigned.subarray(first);
  const sign = (digits[0] ?? 0) >= 0x80 ? [0] : [];
  return [INTEGER, digits.length + sign.length, ...sign, ...digits];
}
