import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { JWK } from 'jose';
import { readPublicKey } from '../../../adapters/jwt/create-key-factory.ts';
import { NodeCryptoAssertionVerifier } from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { verifyCompactJws } from '../../../application/verify-token.ts';
import type { ClientAssertion } from '../../../domain/client-assertion.ts';
import { algorithmsOf, type PublicJwk, readPublicJwk } from '../../../domain/public-jwk.ts';
import { readTokenKey, type TokenKey } from '../../../domain/token-key.ts';

interface Vector {
  readonly tcId: number;
  readonly comment: string;
  readonly jws: string;
  readonly result: 'valid' | 'invalid';
}

interface Group {
  readonly public?: JWK;
  readonly tests: readonly Vector[];
}

const RS256_VECTORS = 233;

describe('verifyCompactJws by the Wycheproof vectors for JSON Web Signatures', () => {
  const groups = readGroups();
  const rs256 = groups.filter((group) => group.public?.alg === 'RS256');

  it(`takes all ${RS256_VECTORS} RS256 vectors as they are marked, except the one with an empty payload`, async () => {
    let checked = 0;
    const disagreements: string[] = [];
    for (const { public: jwk = {}, tests } of rs256) {
      for (const { tcId, comment, jws, result } of tests) {
        const expected = comment === 'emptyPayload' ? 'invalid' : result;
        const actual = (await isAccepted(jws, jwk)) ? 'valid' : 'invalid';
        if (actual !== expected) disagreements.push(`${tcId} ${comment}: ${actual}`);
        checked += 1;
      }
    }
    expect(disagreements).toEqual([]);
    expect(checked).toBe(RS256_VECTORS);
  });

  it('refuses the one valid vector whose payload is empty, because it cannot be a token of this service', async () => {
    const empty = rs256.flatMap(({ public: jwk = {}, tests }) =>
      tests.filter(({ comment }) => comment === 'emptyPayload').map(({ jws, result }) => ({ jwk, jws, result })),
    );
    expect(empty.map(({ result }) => result)).toEqual(['valid']);
    for (const { jwk, jws } of empty) {
      expect(await verifyCompactJws(jws, trusting(jwk))).toEqual({ ok: false, problem: 'token_malformed' });
    }
  });

  it.each([
    ['PS256', 50],
    ['ES256', 39],
  ])('takes all %s vectors as they are marked: %d, except an empty payload and PS384', async (alg, count) => {
    const vectors = groups.flatMap(({ public: jwk, tests }) =>
      jwk?.alg === alg ? tests.map((one) => ({ jwk, ...one })) : [],
    );
    const disagreements: string[] = [];
    for (const { jwk, tcId, comment, jws, result } of vectors) {
      const isOther = comment === 'emptyPayload' || algOf(jws) !== alg;
      const actual = (await isAccepted(jws, jwk)) ? 'valid' : 'invalid';
      if (actual !== (isOther ? 'invalid' : result)) disagreements.push(`${tcId} ${comment}: ${actual}`);
    }
    expect(disagreements).toEqual([]);
    expect(vectors).toHaveLength(count);
  });

  it('cannot use a key whose key_ops allow only encryption', async () => {
    const keys = groups.flatMap(({ public: jwk }) => (jwk?.kty === 'RSA' && jwk.key_ops?.[0] === 'encrypt' ? jwk : []));
    expect(keys).toHaveLength(1);
    for (const key of keys) expect(readTokenKey({ ...key, kid: 'any', alg: 'RS256' })).toBeUndefined();
  });
});

describe('NodeCryptoAssertionVerifier by the Wycheproof vectors for JSON Web Signatures', () => {
  // The file has no vectors of ES384 and EdDSA.
  it.each([
    ['RS256', RS256_VECTORS],
    ['PS256', 50],
    ['ES256', 39],
  ])('takes all %s vectors as they are marked: %d, except those whose header names PS384', async (algorithm, count) => {
    const groups = readGroups().filter((group) => group.public?.alg === algorithm);
    const verifier = new NodeCryptoAssertionVerifier();
    const disagreements: string[] = [];
    let checked = 0;
    for (const { public: jwk, tests } of groups) {
      const key = readPublicJwk(jwk);
      if (!key.ok) throw new Error(key.problem);
      for (const { tcId, comment, jws, result } of tests) {
        const actual = (await isVerified(verifier, jws, key.value)) ? 'valid' : 'invalid';
        // RFC 7520 figure 20, beside a key for PS256.
        const expected = algOf(jws) === 'PS384' ? 'invalid' : result;
        if (actual !== expected) disagreements.push(`${tcId} ${comment}: ${actual}`);
        checked += 1;
      }
    }
    expect(disagreements).toEqual([]);
    expect(checked).toBe(count);
  });

  it('cannot register a key whose use or key_ops allow only encryption', () => {
    const keys = readGroups().flatMap(({ public: jwk }) =>
      jwk?.use === 'enc' || jwk?.key_ops?.[0] === 'encrypt' ? jwk : [],
    );
    expect(keys).toHaveLength(4);
    for (const key of keys) expect(readPublicJwk(key).ok).toBe(false);
  });
});

/**
 * Whether the key signed it by the algorithm of its header, which no caller chooses: vectors are no assertions, and
 * some are no JWS.
 */
async function isVerified(verifier: NodeCryptoAssertionVerifier, jws: string, key: PublicJwk): Promise<boolean> {
  const [algorithm] = algorithmsOf(key);
  if (!/^[\w-]+\.[\w-]*\.[\w-]+$/.test(jws) || algorithm === undefined || algOf(jws) !== algorithm) return false;
  // ClientAssertion takes only assertions.
  const assertion = { header: { alg: algorithm, kid: key.kid }, reveal: () => jws };
  return (await verifier.verify(assertion as unknown as ClientAssertion, [key])) === 'verified';
}

function algOf(jws: string): unknown {
  try {
    return JSON.parse(Buffer.from(jws.slice(0, jws.indexOf('.')), 'base64url').toString()).alg;
  } catch {
    return undefined;
  }
}

/** Throws if WYCHEPROOF_DIR has no vectors. jest.config.js leaves this file out only if the variable is not set. */
function readGroups(): readonly Group[] {
  const { WYCHEPROOF_DIR = '' } = process.env;
  return JSON.parse(readFileSync(join(WYCHEPROOF_DIR, 'json_web_signature_test.json'), 'utf8')).testGroups;
}

async function isAccepted(jws: string, jwk: JWK): Promise<boolean> {
  return (await verifyCompactJws(jws, trusting(jwk))).ok;
}

/** Returns the key for every id, so that only the signature decides. */
function trusting(jwk: JWK) {
  return {
    async verificationKey() {
      const key = readPublicKey({ ...jwk, use: jwk.use ?? 'sig', kid: 'any', alg: jwk.alg ?? 'RS256' } as TokenKey);
      if (key === undefined) throw new TypeError('no usable key');
      return key;
    },
  };
}
