import { describe, expect, it } from '@jest/globals';
import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { BcryptSecretVerifier } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { RandomIdGenerator } from '../../adapters/system/random-id-generator.ts';
import { AuthenticateClient } from '../../application/authenticate-client.ts';
import type { ClientRepository } from '../../application/ports/client-repository.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { GOOD_CLIENT, GOOD_SECRET } from '../support/running-service.ts';

const CLIENT = {
  clientId: GOOD_CLIENT.client_id,
  clientSecret: GOOD_CLIENT.client_secret,
  clientName: GOOD_CLIENT.client_name,
  scope: GOOD_CLIENT.scope,
};

/** The ports of the use case, each call of which is written down, in order. */
function world() {
  const calls: string[] = [];
  const repository = new InMemoryClientRepository(new RandomIdGenerator());
  const bcrypt = new BcryptSecretVerifier(4);
  const clients: ClientRepository = {
    findByClientId(clientId) {
      calls.push(`look up ${clientId}`);
      return repository.findByClientId(clientId);
    },
  };
  const secrets: SecretVerifier = {
    verify(presented, stored) {
      calls.push(stored === undefined ? 'check against nothing' : 'check');
      return bcrypt.verify(presented, stored);
    },
  };
  repository.add(CLIENT);
  repository.add({ ...CLIENT, clientId: 'locked', clientSecret: '!locked' });
  repository.add({ ...CLIENT, clientId: 'plain', clientSecret: `{noop}${GOOD_SECRET}` });
  repository.add({ ...CLIENT, clientId: 'dear', clientSecret: CLIENT.clientSecret.replace('$04$', '$31$') });
  repository.add({ ...CLIENT, clientId: 'scopeless', scope: '' });
  return { calls, repository, authenticateClient: new AuthenticateClient(clients, secrets) };
}

describe('AuthenticateClient', () => {
  it('answers the registration of a client whose secret is right', async () => {
    const { authenticateClient } = world();
    const client = await authenticateClient.execute({ clientId: CLIENT.clientId, clientSecret: GOOD_SECRET }, A_CALLER);
    expect(client).toMatchObject({ ok: true, value: { clientId: CLIENT.clientId, clientName: CLIENT.clientName } });
  });

  it.each([
    ['an unknown client', 'nobody', GOOD_SECRET, 'client_unknown', undefined],
    ['a client in other case', CLIENT.clientId.toUpperCase(), GOOD_SECRET, 'client_unknown', undefined],
    ['a client with a space behind it', `${CLIENT.clientId} `, GOOD_SECRET, 'client_unknown', undefined],
    ['a wrong secret', CLIENT.clientId, 'bad-secret', 'secret_wrong', CLIENT.clientId],
    ['a secret in other case', CLIENT.clientId, GOOD_SECRET.toUpperCase(), 'secret_wrong', CLIENT.clientId],
    ['the stored encoding as the secret', CLIENT.clientId, CLIENT.clientSecret, 'secret_wrong', CLIENT.clientId],
    ['an empty secret', CLIENT.clientId, '', 'presented_secret_unusable', CLIENT.clientId],
    ['a secret of 73 bytes', CLIENT.clientId, 'x'.repeat(73), 'presented_secret_unusable', CLIENT.clientId],
    [
      'a NUL behind the right secret',
      CLIENT.clientId,
      `${GOOD_SECRET}\0`,
      'presented_secret_unusable',
      CLIENT.clientId,
    ],
    ['a locked client', 'locked', GOOD_SECRET, 'stored_secret_unusable', 'locked'],
    ['a plain secret where only BCrypt is known', 'plain', GOOD_SECRET, 'stored_secret_unusable', 'plain'],
    ['a stored encoding of a cost that is never checked', 'dear', GOOD_SECRET, 'stored_secret_unusable', 'dear'],
    ['a registration that breaks an invariant', 'scopeless', GOOD_SECRET, 'registration_broken', 'scopeless'],
  ])(
    'refuses %s as invalid_client, at the cost of one look-up and one check',
    async (_case, id, secret, reason, named) => {
      const { authenticateClient, calls } = world();
      const client = await authenticateClient.execute({ clientId: id, clientSecret: secret }, A_CALLER);
      const problem = { code: 'invalid_client', reason, ...(named !== undefined && { clientId: named }) };
      expect(client).toEqual({ ok: false, problem });
      expect(calls).toEqual([`look up ${id}`, expect.stringMatching(/^check/)]);
    },
  );

  it('checks the secret of a client without a usable registration against nothing', async () => {
    for (const clientId of ['nobody', 'scopeless']) {
      const { authenticateClient, calls } = world();
      await authenticateClient.execute({ clientId, clientSecret: GOOD_SECRET }, A_CALLER);
      expect(calls).toEqual([`look up ${clientId}`, 'check against nothing']);
    }
  });

  it('refuses a client from the moment in which it is removed', async () => {
    const { authenticateClient, repository } = world();
    const credentials = { clientId: CLIENT.clientId, clientSecret: GOOD_SECRET };
    expect((await authenticateClient.execute(credentials, A_CALLER)).ok).toBe(true);
    repository.remove(CLIENT.clientId);
    expect((await authenticateClient.execute(credentials, A_CALLER)).ok).toBe(false);
  });

  it('passes an outage of the repository on as it is, and checks no secret', async () => {
    const outage = new DependencyUnavailable('client repository', new Error('connection refused'));
    const unreachable: ClientRepository = { findByClientId: () => Promise.reject(outage) };
    let checks = 0;
    const secrets: SecretVerifier = {
      async verify() {
        checks += 1;
        return 'match';
      },
    };
    const authenticateClient = new AuthenticateClient(unreachable, secrets);
    const credentials = { clientId: CLIENT.clientId, clientSecret: GOOD_SECRET };
    await expect(authenticateClient.execute(credentials, A_CALLER)).rejects.toBe(outage);
    expect(checks).toBe(0);
  });
});
