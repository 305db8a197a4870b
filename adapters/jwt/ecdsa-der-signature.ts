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

/** Without zeros in front, except one that keeps the number positive. */
function derInteger(unsigned: Buffer): readonly number[] {
  const first = unsigned.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? unsigned.subarray(-1) : unsigned.subarray(first);
  const sign = (digits[0] ?? 0) >= 0x80 ? [0] : [];
  return [INTEGER, digits.length + sign.length, ...sign, ...digits];
}
