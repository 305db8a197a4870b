/** Tags of ASN.1 (ITU-T X.690 section 8). */
const INTEGER = 0x02;
const SEQUENCE = 0x30;

/**
 * The signature of a JWS with ECDSA, `r` and `s` one after the other (RFC 7518 section 3.4), in DER as OpenSSL reads it
 * (ECDSA-Sig-Value, RFC 3279 section 2.2.3). For curves of up to 384 bits, whose lengths fit into one byte.
 *
 * node:crypto converts it too (`dsaEncoding`), if it gets the key among options; but then it costs 20 µs to find out
 * that the options themselves are no key: with that, one hot client got two thirds of the tokens by ES256 (26 November
 * 2026, five pairs).
 */
export function ecdsaDerSignature(signature: Buffer): Buffer {
  const half = signature.length / 2;
  const numbers = [...derInteger(signature.subarray(0, half)), ...derInteger(signature.subarray(half))];
  return Buffer.from([SEQUENCE, numbers.length, ...numbers]);
}

/** The signature of a JWS with ES256, from DER: two numbers of 32 bytes. */
export function es256Signature(der: Buffer): Buffer {
  const signature = Buffer.alloc(64);
  // A sequence of two integers, each behind its tag and its length.
  const first = der[3] ?? 0;
  signature.set(der.subarray(4 + Math.max(0, first - 32), 4 + first), Math.max(0, 32 - first));
  const second = der[5 + first] ?? 0;
  signature.set(der.subarray(6 + first + Math.max(0, second - 32)), Math.max(32, 64 - second));
  return signature;
}

/** Without zeros in front, except one that keeps the number positive. */
function derInteger(unsigned: Buffer): readonly number[] {
  const first = unsigned.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? unsigned.subarray(-1) : unsigned.subarray(first);
  const sign = (digits[0] ?? 0) >= 0x80 ? [0] : [];
  return [INTEGER, digits.length + sign.length, ...sign, ...digits];
}
