import { beforeAll, describe, expect, it } from '@jest/globals';
import { AuthorizeRequest } from '../../application/authorize-request.ts';
import { IntrospectToken } from '../../application/introspect-token.ts';
import type { KeyRing } from '../../application/keys/key-ring.ts';
import type { RevokedToken } from '../../application/ports/revocations.ts';
import { RevokeToken } from '../../application/revoke-token.ts';
import { TokenSigner } from '../../application/token-signer.ts';
import { ClientRegistration } from '../../domain/client-registration.ts';
import { success } from '../../domain/result.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { CLAIMS } from '../support/claims.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { freshKeyRing } from '../support/fresh-key-ring.ts';
import { InMemoryAuditLog } from '../support/in-memory-audit-log.ts';
import { REGISTERED_CLIENT } from '../support/registered-client.ts';

let keys: KeyRing;
beforeAll(async () => {
  keys = await freshKeyRing();
});

function registrationOf(clientId: string): ClientRegistration {
  const registration = ClientRegistration.of({ ...REGISTERED_CLIENT, id: '1', clientId });
  if (!registration.ok) throw new Error('no registration');
  return registration.value;
}

/** What both endpoints are made of, for a caller that is the client of the token by default. */
function world(clientId: string = CLAIMS.sub, now: number = CLAIMS.iat) {
  const [clock, auditLog] = [new FixedClock(now), new InMemoryAuditLog()];
  const registration = registrationOf(clientId);
  const authenticateClient = { execute: async () => success(registration) };
  const common = { authenticateClient, budget: { take: () => true }, keys, clock, auditLog };
  const credentials = { clientId, clientSecret: 'secret' };
  return { common, registration, credentials, clock, auditLog };
}

describe('RevokeToken', () => {
  async function revoke(clientId?: string, now?: number) {
    const { common, credentials, auditLog } = world(clientId, now);
    const revoked: RevokedToken[] = [];
    const revokeToken = new RevokeToken({
      ...common,
      revocations: { revoke: async (token) => void revoked.push(token) },
    });
    const token = await new TokenSigner(keys).sign(CLAIMS);
    const outcome = await revokeToken.execute({ token, credentials, caller: A_CALLER });
    expect(outcome).toEqual(success(credentials.clientId));
    expect(auditLog.events().map(({ event }) => event)).toEqual(revoked.map(() => 'token_revoked'));
    return revoked;
  }

  it('keeps a token of the client until a minute after its end, for the clocks of replicas', async () => {
    const { sub: clientId, jti: tokenId, exp } = CLAIMS;
    expect(await revoke()).toEqual([{ clientId, tokenId, keptUntil: exp + 60 }]);
    expect(await revoke(clientId, exp - 1)).toHaveLength(1);
  });

  it('keeps and records nothing of one that has ended, or that another client sends', async () => {
    expect(await revoke(CLAIMS.sub, CLAIMS.exp)).toEqual([]);
    expect(await revoke('another')).toEqual([]);
  });
});

describe('IntrospectToken', () => {
  it('names its caller, for the log, whether it knows of the token or not', async () => {
    const { common, registration, credentials, clock } = world();
    const introspectToken = new IntrospectToken({
      ...common,
      authorizeRequest: new AuthorizeRequest(keys, clock, { issuer: CLAIMS.iss }),
      clients: { findByClientId: async () => ({ kind: 'found', registration }) },
      revocations: { find: async () => ({ isRevoked: false, issuedUntil: undefined }) },
      ...{ issuer: CLAIMS.iss, leewaySeconds: 0, scopeForAll: 'introspect' },
    });
    const ask = (token: string) => introspectToken.execute({ token, by: { credentials }, caller: A_CALLER });
    const { sub: clientId } = CLAIMS;
    expect(await ask(await new TokenSigner(keys).sign(CLAIMS))).toEqual(
      success({ clientId, claims: CLAIMS, scope: undefined }),
    );
    expect(await ask('no token')).toEqual(success({ clientId, claims: undefined, scope: undefined }));
  });
});
