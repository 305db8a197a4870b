import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { CompactEncrypt, calculateJwkThumbprint, compactDecrypt } from 'jose';
import type { KeySealer, OpenedSeal } from '../../application/ports/key-sealer.ts';
import type { KeyPlan } from '../../domain/key-chain.ts';
import { parseJson } from '../../domain/parse-json.ts';
import type { Result } from '../../domain/result.ts';
import { readTokenAlgorithm, type TokenAlgorithm } from '../../domain/token-key.ts';
import type { RsaSigner } from './algorithms.ts';
import { generatePrivateKey, keyPairOf } from './create-key-factory.ts';
import type { KeySecret } from './key-secrets.ts';

/** Of what is sealed, and how. */
const VERSION = 1;

const DAMAGED: OpenedSeal = { state: 'damaged' };

/** The header of a seal. The encryption authenticates it (RFC 7516 section 5.1, step 14). */
interface SealHeader {
  readonly alg: 'dir';
  readonly enc: 'A256GCM';
  /** The id of the secret. */
  readonly kid: string;
  readonly ver: number;
}

/** What is encrypted: the plan of a key and its private JWK, whose kid is a thumbprint (RFC 7638). */
interface Sealed extends KeyPlan {
  readonly kid: string;
  readonly jwk: JsonWebKey;
}

/**
 * Seals keys as JWE in the compact form (RFC 7516), encrypted directly with a key that is derived from a secret of
 * KEY_SECRET_FILE. The public half is derived from the private one that was sealed.
 */
export class JoseKeySealer implements KeySealer {
  #secrets: readonly KeySecret[];
  readonly #threads: RsaSigner;
  readonly #readSecrets: () => Result<readonly KeySecret[], readonly string[]>;

  /** @param readSecrets reads the file again, for each seal. What was read last counts while that fails. */
  constructor(
    threads: RsaSigner,
    secrets: readonly KeySecret[],
    readSecrets: () => Result<readonly KeySecret[], readonly string[]>,
  ) {
    this.#threads = threads;
    this.#secrets = secrets;
    this.#readSecrets = readSecrets;
  }

  async make(algorithm: TokenAlgorithm) {
    const key = await generatePrivateKey(algorithm);
    const kid = await calculateJwkThumbprint(createPublicKey(key));
    return { kid, seal: (plan: KeyPlan) => this.#seal({ ...plan, kid, jwk: key.export({ format: 'jwk' }) }) };
  }

  problem(): string | undefined {
    const refreshed = this.#refresh();
    return refreshed.ok ? undefined : refreshed.problem.join('; ');
  }

  async open(sealed: string): Promise<OpenedSeal> {
    const header = readHeader(sealed);
    if (header === undefined) return DAMAGED;
    if (header.ver !== VERSION) return { state: 'locked', reason: `its format ${header.ver} needs another version` };
    // A secret that has leaked, and that was taken out of the file, opens nothing that is planted from then on.
    this.#refresh();
    const secret = this.#secrets.find(({ id }) => id === header.kid);
    if (secret === undefined) return { state: 'locked', reason: `its secret is missing, whose id is ${header.kid}` };
    try {
      const options = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] };
      const { plaintext } = await compactDecrypt(sealed, secret.sealingKey, options);
      return await read(parseJson(new TextDecoder().decode(plaintext)), this.#threads);
    } catch {
      // The error could quote what is sealed, and none of them depends on anything but this text.
      return DAMAGED;
    }
  }

  async #seal(content: Sealed): Promise<string> {
    const problem = this.problem();
    if (problem !== undefined) throw new Error(`no key can be sealed: ${problem}`);
    const [first] = this.#secrets;
    if (first === undefined) throw new Error('no key can be sealed: there is no secret');
    const header: SealHeader = { alg: 'dir', enc: 'A256GCM', kid: first.id, ver: VERSION };
    const encrypting = new CompactEncrypt(new TextEncoder().encode(JSON.stringify(content)));
    return encrypting.setProtectedHeader({ ...header }).encrypt(first.sealingKey);
  }

  #refresh(): Result<readonly KeySecret[], readonly string[]> {
    const read = this.#readSecrets();
    if (read.ok) this.#secrets = read.value;
    return read;
  }
}

/** The id of the secret that a seal needs, without opening it; undefined if it is no seal. */
export function secretIdOf(sealed: string): string | undefined {
  return readHeader(sealed)?.kid;
}

/** Only a header with exactly these fields. What else it could say would change how it is opened. */
function readHeader(sealed: string): SealHeader | undefined {
  if (!/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/.test(sealed)) return undefined;
  const encoded = sealed.slice(0, sealed.indexOf('.'));
  const header = Object(parseJson(Buffer.from(encoded, 'base64url').toString())) as Record<string, unknown>;
  const { alg, enc, kid, ver, ...more } = header;
  // The id is logged where it is unknown, so it has to be one.
  const isId = typeof kid === 'string' && /^[\w-]{16}$/.test(kid);
  const isSeal = alg === 'dir' && enc === 'A256GCM' && isId && Number.isSafeInteger(ver);
  return isSeal && Object.keys(more).length === 0 ? (header as unknown as SealHeader) : undefined;
}

/** Only a holder of a secret can have written this, so a key that breaks a rule is damaged, and not an attack. */
async function read(content: unknown, threads: RsaSigner): Promise<OpenedSeal> {
  const { kid, algorithm, step, signsFrom, verifiesUntil, jwk } = Object(content) as Partial<Sealed>;
  const alg = readTokenAlgorithm(algorithm);
  const numbers = [step, signsFrom, verifiesUntil].every((value) => Number.isSafeInteger(value) && Number(value) >= 0);
  if (alg === undefined || !numbers || jwk === undefined || kid === undefined) return DAMAGED;
  const key: KeyObject = createPrivateKey({ key: jwk, format: 'jwk' });
  if ((await calculateJwkThumbprint(createPublicKey(key))) !== kid) return DAMAGED;
  const plan = { algorithm: alg, step, signsFrom, verifiesUntil } as KeyPlan;
  return { state: 'opened', plan, pair: keyPairOf(kid, alg, key, threads) };
}
