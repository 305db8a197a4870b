import { constants, generateKeyPairSync, KeyObject, verify } from 'node:crypto';
import { importJWK, type JWK } from 'jose';
import type { AssertionVerdict, AssertionVerifier } from '../../application/ports/assertion-verifier.ts';
import type { ClientAssertion } from '../../domain/client-assertion.ts';
import { type AssertionAlgorithm, algorithmsOf, type PublicJwk, readAlgorithm } from '../../domain/public-jwk.ts';
import { ecdsaDerSignature } from './ecdsa-der-signature.ts';

type Verify = (input: Buffer, key: KeyObject, signature: Buffer) => boolean;

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };

/** How node:crypto verifies each algorithm (RFC 7518 sections 3.3 to 3.5, RFC 8037 section 3.1). */
const VERIFY: Readonly<Record<AssertionAlgorithm, Verify>> = {
  RS256: (input, key, signature) => verify('sha256', input, key, signature),
  PS256: (input, key, signature) => verify('sha256', input, { key, ...PSS }, signature),
  ES256: (input, key, signature) => verify('sha256', input, key, ecdsaDerSignature(signature)),
  ES384: (input, key, signature) => verify('sha384', input, key, ecdsaDerSignature(signature)),
  EdDSA: (input, key, signature) => verify(null, input, key, signature),
};

/** Bytes of a signature by each algorithm; for RSA, by the smallest and the largest key. */
const SIGNATURE_BYTES = { RS256: [256, 512], PS256: [256, 512], ES256: [64, 64], ES384: [96, 96], EdDSA: [64, 64] };

/** The keys that are tried for an assertion without `kid`. Every refusal of one costs so many verifications. */
export const KEYS_TRIED_MAX = 4;

/** The imported keys that are kept: an import takes as long as a verification. */
export const IMPORTED_KEYS_MAX = 1_000;

/**
 * Verifies with the keys of a client, on the event loop, as tokens are signed (decision 0201). jose imports a key: it checks
 * that a point is on its curve.
 *
 * What a refusal costs depends on the assertion and not on the keys: each try costs one import and one verification that
 * runs to its end, against a decoy where there is no key or where the key would end it early.
 */
export class JoseAssertionVerifier implements AssertionVerifier {
  /** The oldest first. */
  readonly #imported = new Map<string, KeyObject>();
  readonly #decoys = createDecoys();

  /** The imported keys that are kept, at most IMPORTED_KEYS_MAX. */
  get importedKeys(): number {
    return this.#imported.size;
  }

  async verify(assertion: ClientAssertion, keys: readonly PublicJwk[]): Promise<AssertionVerdict> {
    const { alg, kid } = assertion.header;
    const algorithm = readAlgorithm(alg);
    if (algorithm === undefined) return 'key_unknown';
    const fitting = keys.filter((jwk) => algorithmsOf(jwk).includes(algorithm));
    const candidates = kid === undefined ? fitting : fitting.filter((jwk) => jwk.kid === kid);
    for (let tried = 0; tried < (kid === undefined ? KEYS_TRIED_MAX : 1); tried += 1) {
      if (await this.isSigned(assertion.reveal(), algorithm, candidates[tried])) return 'verified';
    }
    return candidates.length === 0 ? 'key_unknown' : 'signature_wrong';
  }

  /** Whether this key signed the compact JWS by this algorithm. False without a key, after the same work. */
  async isSigned(compact: string, algorithm: AssertionAlgorithm, jwk: PublicJwk | undefined): Promise<boolean> {
    const end = compact.lastIndexOf('.');
    const signature = Buffer.from(compact.slice(end + 1), 'base64url');
    const [shortest = 0, longest = 0] = SIGNATURE_BYTES[algorithm];
    if (signature.length < shortest || signature.length > longest) return false;
    // Its only spelling: the unused bits of the last character are zero (RFC 4648 section 3.5).
    if (signature.toString('base64url') !== compact.slice(end + 1)) return false;

    const input = Buffer.from(compact.slice(0, end), 'latin1');
    const isRight = (key: KeyObject) => VERIFY[algorithm](input, key, signature);
    const usable = jwk !== undefined && runsToItsEnd(jwk, signature) ? jwk : undefined;
    const kept = usable && this.#imported.get(materialOf(usable));
    const imported = kept ?? (usable && (await importPublicKey(usable)));
    if (imported === undefined) {
      const decoy = await importPublicKey(this.#decoyFor(algorithm, signature.length));
      if (decoy !== undefined) isRight(decoy);
      return false;
    }
    if (isRight(imported)) {
      if (kept === undefined && usable !== undefined) this.#keep(materialOf(usable), imported);
      return true;
    }
    if (kept !== undefined) await importPublicKey(this.#decoyFor(algorithm, signature.length));
    return false;
  }

  #keep(material: string, key: KeyObject): void {
    const [oldest] = this.#imported.keys();
    if (this.#imported.size >= IMPORTED_KEYS_MAX && oldest !== undefined) this.#imported.delete(oldest);
    this.#imported.set(material, key);
  }

  /** A key that no assertion is signed with, and that costs as much as one that could have made a signature of that length. */
  #decoyFor(algorithm: AssertionAlgorithm, signatureBytes: number): PublicJwk {
    if (algorithm === 'RS256' || algorithm === 'PS256') return rsaDecoy(signatureBytes);
    return this.#decoys[algorithm];
  }
}

/** The largest modulus of that many bytes, so that a signature is smaller. Nobody knows its factors, or needs them. */
function rsaDecoy(bytes: number): PublicJwk {
  return { kty: 'RSA', n: Buffer.alloc(bytes, 0xff).toString('base64url'), e: 'AQAB' };
}

function createDecoys() {
  const jwkOf = ({ publicKey }: { publicKey: KeyObject }) => publicKey.export({ format: 'jwk' }) as PublicJwk;
  return {
    ES256: jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-256' })),
    ES384: jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-384' })),
    EdDSA: jwkOf(generateKeyPairSync('ed25519')),
  };
}

/** With RSA, only if the signature is as long as the modulus, and smaller (RFC 8017 section 5.2.2). */
function runsToItsEnd(jwk: PublicJwk, signature: Buffer): boolean {
  if (jwk.kty !== 'RSA') return true;
  const padded = Buffer.from(jwk.n, 'base64url');
  // Some encoders write a zero in front of it.
  const modulus = padded.subarray(padded.findIndex((byte) => byte !== 0));
  return modulus.length === signature.length && Buffer.compare(signature, modulus) < 0;
}

function materialOf(jwk: PublicJwk): string {
  return jwk.kty === 'RSA' ? `${jwk.n}.${jwk.e}` : `${jwk.crv}.${jwk.x}.${jwk.kty === 'EC' ? jwk.y : ''}`;
}

/** Undefined if it is no key: a point is not on its curve. */
async function importPublicKey({ kid, alg, ...material }: PublicJwk): Promise<KeyObject | undefined> {
  const [algorithm] = algorithmsOf(material as PublicJwk);
  try {
    const key = await importJWK(material as JWK, algorithm);
    return key instanceof Uint8Array ? undefined : KeyObject.from(key);
  } catch {
    return undefined;
  }
}
