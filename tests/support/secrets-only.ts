import type { ClientRepository } from '../../application/ports/client-repository.ts';

/** A repository for clients with secrets, whose other look-ups nobody makes. */
export function secretsOnly(lookUps: Pick<ClientRepository, 'findByClientId' | 'findSecret'>): ClientRepository {
  const unexpected = () => Promise.reject(new Error('a look-up that nobody should make'));
  return { ...lookUps, findKeys: unexpected, findBySubject: unexpected };
}
