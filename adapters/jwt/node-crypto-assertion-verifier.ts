import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AssertionVerdict, AssertionVerifier } from '../../application/ports/assertion-verifier.ts';
import type { ClientAssertion } from '../../domain/client-assertion.ts';
import { type AssertionAlgorithm, algorithmsOf, type PublicJwk, readAlgorithm } from '../../domain/public-jwk.ts';
import { ALGORITHMS, isOfLength } from './algorithms.ts';

/** The keys that are tried for an assertion without `kid`. Every refusal of one costs so many verifications. */
export const KEYS_TRIED_MAX = 4;

/** The imported keys that are kept: an import takes as long as a verification. */
export const IMPORTED_KEYS_MAX = 1_000;

/** Milliseconds of verifications per pass of the event loop. The last one may exceed them. */
const PASS_MS = 2;

/** The signing input of an assertion, and its signature. */
interface Signed {
  readonly input: Buffer;
  readonly signature: Buffer;
}

/**
 * Verifies with the keys of a client: by ES384 in libuv's pool of threads, and otherwise on the event loop, since the
 * way to a thread would cost as much. In one pass of the event loop it tries keys for two milliseconds, and then the
 * other requests are served first.
 *
 * What a refusal costs depends on the assertion and not on the keys: each try costs one import and one verification
 * that runs to its end, against a decoy where there is no key or where the key would end it early.
 */
export class NodeCryptoAssertionVerifier implements AssertionVerifier {
  /** Only a key that has verified an assertion counts as used: what is refused displaces none. */
  readonly #imported = new LRUCache<string, KeyObject>({ max: IMPORTED_KEYS_MAX });
  readonly #decoys = createDecoys();
  readonly #now: () => number;
  /** Milliseconds of verifications in this pass of the event loop. */
  #spentMs = 0;
  #nextPass: Promise<void> | undefined;

  /** @param now monotonic time in milliseconds. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** The imported keys that are kept, at most IMPORTED_KEYS_MAX. */
  get importedKeys(): number {
    return this.#imported.size;
  }

  cost(assertion: ClientAssertion): number | undefined {
    const { alg, kid } = assertion.header;
    const algorithm = readAlgorithm(alg);
    if (algorithm === undefined || !isOfLength(bytesIn(signatureOf(assertion.reveal())), algorithm)) return undefined;
    return ALGORITHMS[algorithm].cost + (kid === undefined ? Math.log2(KEYS_TRIED_MAX) : 0);
  }

  async verify(assertion: ClientAssertion, keys: readonly PublicJwk[]): Promise<AssertionVerdict> {
    const { alg, kid } = assertion.header;
    const algorithm = readAlgorithm(alg);
    if (algorithm === undefined) return 'key_unknown';
    const fitting = keys.filter((jwk) => algorithmsOf(jwk).includes(algorithm));
    const candidates = kid === undefined ? fitting : fitting.filter((jwk) => jwk.kid === kid);
    const signed = readSigned(assertion.reveal(), algorithm);
    for (let tried = 0; signed !== undefined && tried < (kid === undefined ? KEYS_TRIED_MAX : 1); tried += 1) {
      while (this.#spentMs >= PASS_MS) await this.#nextPass;
      if (await this.#isSignedBy(signed, algorithm, candidates[tried])) return 'verified';
    }
    return candidates.length === 0 ? 'key_unknown' : 'signature_wrong';
  }

  /** False without a key, after the same work. */
  async #isSignedBy(
    { input, signature }: Signed,
    algorithm: AssertionAlgorithm,
    jwk: PublicJwk | undefined,
  ): Promise<boolean> {
    const isRight = (key: KeyObject) => this.#timed(() => ALGORITHMS[algorithm].verify(input, key, signature));
    const importKey = (key: PublicJwk) => this.#timed(() => importPublicKey(key));
    const usable = jwk !== undefined && runsToItsEnd(jwk, signature) ? jwk : undefined;
    const material = usable === undefined ? '' : materialOf(usable);
    const kept = this.#imported.peek(material);
    const imported = kept ?? (usable && importKey(usable));
    if (imported === undefined) {
      const decoy = importKey(this.#decoyFor(algorithm, signature.length));
      if (decoy !== undefined) await isRight(decoy);
      return false;
    }
    if (await isRight(imported)) {
      this.#imported.set(material, imported);
      return true;
    }
    if (kept !== undefined) importKey(this.#decoyFor(algorithm, signature.length));
    return false;
  }

  /** Does work on the event loop, and counts its time. */
  #timed<Outcome>(work: () => Outcome): Outcome {
    const begin = this.#now();
    const outcome = work();
    this.#spentMs += this.#now() - begin;
    this.#nextPass ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#spentMs = 0;
        this.#nextPass = undefined;
        resolve();
      });
    });
    return outcome;
  }

  /** A key that no assertion is signed with, which costs as much as one that makes signatures of that length. */
  #decoyFor(algorithm: AssertionAlgorithm, signatureBytes: number): PublicJwk {
    if (algorithm === 'RS256' || algorithm === 'PS256') return rsaDecoy(signatureBytes);
    return this.#decoys[algorithm];
  }
}

function signatureOf(compact: string): string {
  return compact.slice(compact.lastIndexOf('.') + 1);
}

function bytesIn(encoded: string): number {
  return Math.floor((encoded.length * 3) / 4);
}

/** Undefined if no key by this algorithm can have made the signature. */
function readSigned(compact: string, algorithm: AssertionAlgorithm): Signed | undefined {
  const encoded = signatureOf(compact);
  const signature = Buffer.from(encoded, 'base64url');
  // Its only spelling: the unused bits of the last character are zero (RFC 4648 section 3.5).
  if (!isOfLength(bytesIn(encoded), algorithm) || signature.toString('base64url') !== encoded) return undefined;
  return { input: Buffer.from(compact.slice(0, -encoded.length - 1), 'latin1'), signature };
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
function importPublicKey({ kid, alg, ...material }: PublicJwk): KeyObject | undefined {
  try {
    return createPublicKey({ key: material, format: 'jwk' });
  } catch {
    return undefined;
  }
}
