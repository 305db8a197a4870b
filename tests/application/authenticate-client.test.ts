import { describe, expect, it } from '@jest/globals';
import { AuthenticateClient, type AuthenticateClientParts } from '../../application/authenticate-client.ts';
import type { AssertionType } from '../../application/ports/client-credentials.ts';
import { ClientRegistration } from '../../domain/client-registration.ts';
import { type Result, success } from '../../domain/result.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { compactJws } from '../support/assertions.ts';
import { REGISTERED_CLIENT } from '../support/registered-client.ts';

const TRUSTED = 'https://trusted.test';

function registrationIn(result: Result<ClientRegistration, unknown>): ClientRegistration {
  if (!result.ok) throw new Error('must be valid');
  return result.value;
}

const CLIENT = registrationIn(ClientRegistration.of({ ...REGISTERED_CLIENT, id: '1' }));

/** Strategies that accept everything, and what they were called with. */
function world(enabled: readonly (keyof AuthenticateClientParts)[] = ['bySecret', 'byKey', 'byIdentity']) {
  const calls: unknown[][] = [];
  const strategy = (name: keyof AuthenticateClientParts) => ({
    async execute(...call: readonly unknown[]) {
      calls.push([name, ...call]);
      return success(CLIENT);
    },
    isResponsibleFor: ({ assertion }: { assertion: { claims: { iss?: string } } }) => assertion.claims.iss === TRUSTED,
  });
  const parts = Object.fromEntries(enabled.map((name) => [name, strategy(name)]));
  return { calls, authenticate: new AuthenticateClient(parts) };
}

function assertionBy(iss: string, type: AssertionType = 'jwt-bearer') {
  const assertion = compactJws({ alg: 'ES256' }, { iss, sub: 'x', aud: 'y', exp: 1 }, () => new Uint8Array(64));
  return { assertion, type, clientId: 'client' };
}

describe('AuthenticateClient', () => {
  it('has secrets verified', async () => {
    const { calls, authenticate } = world();
    const credentials = { clientId: 'client', clientSecret: 'secret' };
    expect(await authenticate.execute(credentials, A_CALLER)).toEqual(success(CLIENT));
    expect(calls).toEqual([['bySecret', credentials, A_CALLER]]);
  });

  it.each<[string, string, AssertionType, string]>([
    ['an issuer that is trusted', TRUSTED, 'jwt-bearer', 'byIdentity'],
    ['an issuer that is trusted, as a JWT-SVID', TRUSTED, 'jwt-spiffe', 'byIdentity'],
    ['anybody else, who can only be the client', 'client', 'jwt-bearer', 'byKey'],
  ])('has an assertion verified that was signed by %s', async (_who, iss, type, expected) => {
    const { calls, authenticate } = world();
    expect(await authenticate.execute(assertionBy(iss, type), A_CALLER)).toEqual(success(CLIENT));
    const presented = { type, clientId: 'client', assertion: expect.objectContaining({ claims: expect.any(Object) }) };
    expect(calls).toEqual([[expected, presented, A_CALLER]]);
  });

  it.each<[string, ReturnType<typeof assertionBy>, (keyof AuthenticateClientParts)[]]>([
    ['a JWT-SVID of an issuer that is not trusted', assertionBy('client', 'jwt-spiffe'), ['byKey', 'byIdentity']],
    ['an assertion of a client where that method is off', assertionBy('client'), ['bySecret', 'byIdentity']],
    ['an identity where that method is off', assertionBy(TRUSTED, 'jwt-spiffe'), ['bySecret', 'byKey']],
  ])('refuses %s', async (_what, credentials, enabled) => {
    const { calls, authenticate } = world(enabled);
    const problem = {
      code: 'invalid_client',
      reason: 'assertion_issuer_untrusted',
      expected: expect.stringContaining('an issuer that this server trusts'),
    };
    expect(await authenticate.execute(credentials, A_CALLER)).toEqual({ ok: false, problem });
    expect(calls).toEqual([]);
  });

  it('refuses a malformed assertion', async () => {
    const { calls, authenticate } = world();
    const credentials = { ...assertionBy('client'), assertion: 'a.b.c' };
    const problem = { code: 'invalid_client', reason: 'assertion_malformed' };
    expect(await authenticate.execute(credentials, A_CALLER)).toEqual({ ok: false, problem });
    expect(calls).toEqual([]);
  });

  it('fails for a secret where no method takes one', async () => {
    const { authenticate } = world(['byKey']);
    await expect(authenticate.execute({ clientId: 'client', clientSecret: 'secret' }, A_CALLER)).rejects.toThrow();
  });
});
