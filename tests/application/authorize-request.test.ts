import { beforeAll, describe, expect, it } from '@jest/globals';
import { JoseTokenVerifier } from '../../adapters/jwt/jose-token-verifier.ts';
import { Rs256TokenSigner } from '../../adapters/jwt/rs256-token-signer.ts';
import { AuthorizeRequest } from '../../application/authorize-request.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { TokenVerifier } from '../../application/ports/token-verifier.ts';
import type { AccessTokenClaims } from '../../domain/access-token-claims.ts';
import { Scope } from '../../domain/scope.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { freshKeyRing } from '../support/fresh-key-ring.ts';

const ISSUER = 'http://issuer.test';
const NOW = 1_800_000_000;
const CLAIMS: AccessTokenClaims = {
  iss: ISSUER,
  sub: 'a-client',
  aud: 'a-client',
  iat: NOW,
  nbf: NOW,
  exp: NOW + 300,
  jti: '7d9f0ab6-1c1a-4a0e-9a40-2f8f5d1c2b3a',
};
const CALLER = { ok: true, value: { clientId: CLAIMS.sub, tokenId: CLAIMS.jti } };

let signer: Rs256TokenSigner;
let verifier: JoseTokenVerifier;

beforeAll(async () => {
  const keys = await freshKeyRing();
  signer = new Rs256TokenSigner(keys);
  verifier = new JoseTokenVerifier(keys);
});

interface Question {
  readonly claims?: Partial<AccessTokenClaims>;
  /** Seconds since the epoch at which the token is shown. */
  readonly at?: number;
  readonly required?: string;
  readonly audience?: string;
  readonly leewaySeconds?: number;
}

async function ask({ claims = {}, at = NOW, required, ...expected }: Question = {}) {
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
  it('answers who the bearer of a good token is, and which token was shown', async () => {
    expect(await ask()).toEqual(CALLER);
  });

  describe('by the clock', () => {
    it('lets a token in during its first second and its last', async () => {
      expect(await ask({ at: CLAIMS.nbf })).toEqual(CALLER);
      expect(await ask({ at: CLAIMS.exp - 1 })).toEqual(CALLER);
    });

    it('refuses a token from the second of its exp on', async () => {
      const expired = refused('invalid_token', 'token_expired', CLAIMS.sub);
      expect(await ask({ at: CLAIMS.exp })).toEqual(expired);
      expect(await ask({ at: CLAIMS.exp + 1 })).toEqual(expired);
      expect(await ask({ at: Number.MAX_SAFE_INTEGER })).toEqual(expired);
    });

    it('refuses a token until the second of its nbf', async () => {
      const early = refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub);
      expect(await ask({ at: CLAIMS.nbf - 1 })).toEqual(early);
      expect(await ask({ at: 0 })).toEqual(early);
    });

    it('goes by nbf where it differs from iat', async () => {
      const claims = { nbf: NOW + 60 };
      expect(await ask({ claims, at: NOW + 59 })).toEqual(refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub));
      expect(await ask({ claims, at: NOW + 60 })).toEqual(CALLER);
    });

    it('lets a token of one second in during that second alone', async () => {
      const claims = { exp: NOW + 1 };
      const statuses = await Promise.all([NOW - 1, NOW, NOW + 1].map((at) => ask({ claims, at })));
      expect(statuses.map(({ ok }) => ok)).toEqual([false, true, false]);
    });
  });

  describe('with a leeway between the clocks', () => {
    const leewaySeconds = 5;

    it('lets a token in that many seconds before its nbf and after its last second', async () => {
      expect(await ask({ leewaySeconds, at: CLAIMS.nbf - 5 })).toEqual(CALLER);
      expect(await ask({ leewaySeconds, at: CLAIMS.exp + 4 })).toEqual(CALLER);
    });

    it('refuses it a second further', async () => {
      const early = refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub);
      const expired = refused('invalid_token', 'token_expired', CLAIMS.sub);
      expect(await ask({ leewaySeconds, at: CLAIMS.nbf - 6 })).toEqual(early);
      expect(await ask({ leewaySeconds, at: CLAIMS.exp + 5 })).toEqual(expired);
    });
  });

  describe('of a resource that has an audience', () => {
    const audience = 'https://api.test';

    it('lets in a token for that audience, whoever the client is', async () => {
      expect(await ask({ claims: { aud: audience }, audience })).toEqual(CALLER);
    });

    it.each(['a-client', `${audience}/`, 'HTTPS://API.TEST', 'https://api.test https://other.test', 'x'])(
      'refuses a token for %j, which is not it to the letter',
      async (aud) => {
        const foreign = refused('invalid_token', 'token_audience_foreign', CLAIMS.sub);
        expect(await ask({ claims: { aud }, audience })).toEqual(foreign);
      },
    );

    it('names no client of a foreign issuer', async () => {
      const answer = await ask({ claims: { iss: 'x', aud: 'x' }, audience });
      expect(answer).toEqual(refused('invalid_token', 'token_issuer_foreign'));
    });
  });

  it('lets in a token for any audience where the resource has none', async () => {
    expect(await ask({ claims: { aud: 'https://other.test' } })).toEqual(CALLER);
  });

  it.each([
    `${ISSUER}/`,
    'HTTP://issuer.test',
    'https://issuer.test',
    'http://issuer.test:80',
    ' http://issuer.test',
    'x',
  ])('refuses a token of the issuer %j, which is not ours to the letter', async (iss) => {
    expect(await ask({ claims: { iss } })).toEqual(refused('invalid_token', 'token_issuer_foreign'));
  });

  it('names no client of a foreign issuer, whatever else is wrong', async () => {
    expect(await ask({ claims: { iss: 'x' }, at: CLAIMS.exp })).toEqual(
      refused('invalid_token', 'token_issuer_foreign'),
    );
  });

  describe('of a resource that asks for scopes', () => {
    const held = { scope: ['read', 'write'] };
    const insufficient = refused('insufficient_scope', 'scope_insufficient', CLAIMS.sub);

    it.each(['read', 'write', 'read write', 'write read', 'read read'])(
      'lets in a token that holds %j',
      async (required) => {
        expect(await ask({ claims: held, required })).toEqual(CALLER);
      },
    );

    it.each(['admin', 'read admin', 'READ', 'rea', 'reads', 'read:all'])(
      'refuses a token that does not hold all of %j',
      async (required) => {
        expect(await ask({ claims: held, required })).toEqual(insufficient);
      },
    );

    it('refuses a token without the claim, and one whose claim is empty', async () => {
      expect(await ask({ required: 'read' })).toEqual(insufficient);
      expect(await ask({ claims: { scope: [] }, required: 'read' })).toEqual(insufficient);
    });

    it('does not read one string of the claim as several scopes', async () => {
      expect(await ask({ claims: { scope: ['read write'] }, required: 'read' })).toEqual(insufficient);
    });

    it('reads one string of scopes with single spaces between, as RFC 9068 has it', async () => {
      const claims = { scope: 'read write' };
      for (const required of ['read', 'write', 'write read']) expect(await ask({ claims, required })).toEqual(CALLER);
      for (const required of ['admin', 'rea', 'read admin'])
        expect(await ask({ claims, required })).toEqual(insufficient);
    });

    it('says that a token is expired rather than short of scope', async () => {
      const answer = await ask({ required: 'admin', at: CLAIMS.exp });
      expect(answer).toEqual(refused('invalid_token', 'token_expired', CLAIMS.sub));
    });
  });

  it('lets in a token of any scope where the resource asks for none', async () => {
    expect(await ask({ claims: { scope: ['read'] } })).toEqual(CALLER);
  });

  it('refuses what is no token of ours with the reason that the verifier gives, and names nobody', async () => {
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

  it('passes an outage of the verifier on as it is', async () => {
    const outage = new DependencyUnavailable('key directory', new Error('connection refused'));
    const unreachable: TokenVerifier = { verify: () => Promise.reject(outage) };
    const authorizeRequest = new AuthorizeRequest(unreachable, new FixedClock(NOW), { issuer: ISSUER });
    await expect(authorizeRequest.execute({ token: 'any' })).rejects.toBe(outage);
  });
});
