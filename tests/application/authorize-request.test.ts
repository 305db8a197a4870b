import { beforeAll, describe, expect, it } from '@jest/globals';
import { joseTokenVerifier } from '../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoTokenSigner } from '../../adapters/jwt/node-crypto-token-signer.ts';
import { AuthorizeRequest, type ExpectedToken, OWN_CLIENT } from '../../application/authorize-request.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { TokenVerifier } from '../../application/ports/token-verifier.ts';
import type { AccessTokenClaims } from '../../domain/access-token-claims.ts';
import { Scope } from '../../domain/scope.ts';
import { CLAIMS } from '../support/claims.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { freshKeyRing } from '../support/fresh-key-ring.ts';

const { iss: ISSUER, iat: NOW } = CLAIMS;
const CALLER = { ok: true, value: { clientId: CLAIMS.sub, tokenId: CLAIMS.jti } };

let signer: NodeCryptoTokenSigner;
let verifier: TokenVerifier;

beforeAll(async () => {
  const keys = await freshKeyRing();
  signer = new NodeCryptoTokenSigner(keys);
  verifier = joseTokenVerifier(keys);
});

interface Case extends Omit<ExpectedToken, 'issuer'> {
  readonly claims?: Partial<AccessTokenClaims>;
  /** The time of the request, in seconds since the epoch. */
  readonly at?: number;
  readonly required?: string;
}

async function ask({ claims = {}, at = NOW, required, ...expected }: Case = {}) {
  const authorizeRequest = new AuthorizeRequest(verifier, new FixedClock(at), { issuer: ISSUER, ...expected });
  const token = await signer.sign({ ...CLAIMS, ...claims });
  return authorizeRequest.execute({ token, requiredScope: required === undefined ? undefined : scope(required) });
}

function scope(text: string): Scope {
  const parsed = Scope.parse(text);
  if (!parsed.ok) throw new Error(`no scope: ${text}`);
  return parsed.value;
}

function refused(code: string, reason: string, clientId?: string) {
  return { ok: false, problem: { code, reason, ...(clientId !== undefined && { clientId }) } };
}

describe('AuthorizeRequest', () => {
  it('returns the client and the id of a valid token', async () => {
    expect(await ask()).toEqual(CALLER);
  });

  describe('at different times', () => {
    it('accepts a token in its first and its last second', async () => {
      expect(await ask({ at: CLAIMS.nbf })).toEqual(CALLER);
      expect(await ask({ at: CLAIMS.exp - 1 })).toEqual(CALLER);
    });

    it('refuses a token from its exp on', async () => {
      const expired = refused('invalid_token', 'token_expired', CLAIMS.sub);
      expect(await ask({ at: CLAIMS.exp })).toEqual(expired);
      expect(await ask({ at: CLAIMS.exp + 1 })).toEqual(expired);
      expect(await ask({ at: Number.MAX_SAFE_INTEGER })).toEqual(expired);
    });

    it('refuses a token before its nbf', async () => {
      const early = refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub);
      expect(await ask({ at: CLAIMS.nbf - 1 })).toEqual(early);
      expect(await ask({ at: 0 })).toEqual(early);
    });

    it('uses nbf if it differs from iat', async () => {
      const claims = { nbf: NOW + 60 };
      expect(await ask({ claims, at: NOW + 59 })).toEqual(refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub));
      expect(await ask({ claims, at: NOW + 60 })).toEqual(CALLER);
    });

    it('accepts a token with a lifetime of one second only in that second', async () => {
      const claims = { exp: NOW + 1 };
      const statuses = await Promise.all([NOW - 1, NOW, NOW + 1].map((at) => ask({ claims, at })));
      expect(statuses.map(({ ok }) => ok)).toEqual([false, true, false]);
    });
  });

  describe('with a leeway', () => {
    const leewaySeconds = 5;

    it('accepts a token that many seconds before its nbf and after its last second', async () => {
      expect(await ask({ leewaySeconds, at: CLAIMS.nbf - 5 })).toEqual(CALLER);
      expect(await ask({ leewaySeconds, at: CLAIMS.exp + 4 })).toEqual(CALLER);
    });

    it('refuses a token one second outside the leeway', async () => {
      const early = refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub);
      const expired = refused('invalid_token', 'token_expired', CLAIMS.sub);
      expect(await ask({ leewaySeconds, at: CLAIMS.nbf - 6 })).toEqual(early);
      expect(await ask({ leewaySeconds, at: CLAIMS.exp + 5 })).toEqual(expired);
    });
  });

  describe('with an expected audience', () => {
    const audience = 'https://api.test';

    it('accepts a token for that audience, for every client', async () => {
      expect(await ask({ claims: { aud: audience }, audience })).toEqual(CALLER);
    });

    it.each(['a-client', `${audience}/`, 'HTTPS://API.TEST', 'https://api.test https://other.test', 'x'])(
      'refuses a token for %j, which is not exactly that audience',
      async (aud) => {
        const foreign = refused('invalid_token', 'token_audience_foreign', CLAIMS.sub);
        expect(await ask({ claims: { aud }, audience })).toEqual(foreign);
      },
    );

    it('does not name the client of another issuer', async () => {
      const answer = await ask({ claims: { iss: 'x', aud: 'x' }, audience });
      expect(answer).toEqual(refused('invalid_token', 'token_issuer_foreign'));
    });
  });

  it('accepts a token for several audiences if one of them is expected', async () => {
    const claims = { aud: ['https://api.test', 'https://other.test'] };
    expect(await ask({ claims, audience: 'https://other.test' })).toEqual(CALLER);
    const foreign = refused('invalid_token', 'token_audience_foreign', CLAIMS.sub);
    for (const audience of ['https://third.test', 'https://api.test/', 'https://api.test,https://other.test']) {
      expect(await ask({ claims, audience })).toEqual(foreign);
    }
  });

  it('accepts a token for its own client, and refuses one that is restricted to a resource', async () => {
    expect(await ask({ audience: OWN_CLIENT })).toEqual(CALLER);
    const foreign = refused('invalid_token', 'token_audience_foreign', CLAIMS.sub);
    for (const aud of ['https://api.test', 'another-client', ['https://api.test', 'https://other.test']]) {
      expect(await ask({ claims: { aud }, audience: OWN_CLIENT })).toEqual(foreign);
    }
  });

  it('accepts a token for any audience if none is expected', async () => {
    expect(await ask({ claims: { aud: 'https://other.test' } })).toEqual(CALLER);
  });

  it.each([
    `${ISSUER}/`,
    'HTTP://issuer.test',
    'https://issuer.test',
    'http://issuer.test:80',
    ' http://issuer.test',
    'x',
  ])('refuses a token of the issuer %j, which is not exactly ours', async (iss) => {
    expect(await ask({ claims: { iss } })).toEqual(refused('invalid_token', 'token_issuer_foreign'));
  });

  it('does not name the client of another issuer, even if something else is wrong too', async () => {
    expect(await ask({ claims: { iss: 'x' }, at: CLAIMS.exp })).toEqual(
      refused('invalid_token', 'token_issuer_foreign'),
    );
  });

  describe('with required scopes', () => {
    const held = { scope: ['read', 'write'] };
    const insufficient = refused('insufficient_scope', 'scope_insufficient', CLAIMS.sub);

    it.each(['read', 'write', 'read write', 'write read', 'read read'])(
      'accepts a token that has the scopes %j',
      async (required) => {
        expect(await ask({ claims: held, required })).toEqual(CALLER);
      },
    );

    it.each(['admin', 'read admin', 'READ', 'rea', 'reads', 'read:all'])(
      'refuses a token that does not have all of the scopes %j',
      async (required) => {
        expect(await ask({ claims: held, required })).toEqual(insufficient);
      },
    );

    it('refuses a token whose scope claim is absent or empty', async () => {
      expect(await ask({ required: 'read' })).toEqual(insufficient);
      expect(await ask({ claims: { scope: [] }, required: 'read' })).toEqual(insufficient);
    });

    it('does not split a string in the array of the scope claim', async () => {
      expect(await ask({ claims: { scope: ['read write'] }, required: 'read' })).toEqual(insufficient);
    });

    it('reads a scope claim that is one string, as in RFC 9068', async () => {
      const claims = { scope: 'read write' };
      for (const required of ['read', 'write', 'write read']) expect(await ask({ claims, required })).toEqual(CALLER);
      for (const required of ['admin', 'rea', 'read admin'])
        expect(await ask({ claims, required })).toEqual(insufficient);
    });

    it('reports an expired token as expired, even if it also lacks a scope', async () => {
      const answer = await ask({ required: 'admin', at: CLAIMS.exp });
      expect(answer).toEqual(refused('invalid_token', 'token_expired', CLAIMS.sub));
    });
  });

  it('accepts a token with any scope if none is required', async () => {
    expect(await ask({ claims: { scope: ['read'] } })).toEqual(CALLER);
  });

  it('refuses an invalid token with the reason of the verifier, and does not name a client', async () => {
    const authorizeRequest = new AuthorizeRequest(verifier, new FixedClock(NOW), { issuer: ISSUER });
    const [head, payload] = (await signer.sign(CLAIMS)).split('.');
    const answers = [
      await authorizeRequest.execute({ token: 'no token' }),
      await authorizeRequest.execute({ token: `${head}.${payload}.AAAA` }),
    ];
    expect(answers).toEqual([
      refused('invalid_token', 'token_malformed'),
      refused('invalid_token', 'token_signature_wrong'),
    ]);
  });

  it('passes on an outage of the verifier unchanged', async () => {
    const outage = new DependencyUnavailable('key directory', new Error('connection refused'));
    const unreachable: TokenVerifier = { verify: () => Promise.reject(outage) };
    const authorizeRequest = new AuthorizeRequest(unreachable, new FixedClock(NOW), { issuer: ISSUER });
    await expect(authorizeRequest.execute({ token: 'any' })).rejects.toBe(outage);
  });
});
