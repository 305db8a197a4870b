import { BcryptSecretVerifier } from '../adapters/bcrypt/bcrypt-secret-verifier.ts';
import type { CheckQueue } from '../adapters/bcrypt/check-queue.ts';
import { InMemoryClientRepository } from '../adapters/memory/in-memory-client-repository.ts';
import { PlainSecretVerifier } from '../adapters/memory/plain-secret-verifier.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import { StoredSecret } from '../domain/stored-secret.ts';
import type { Configuration } from './configuration.ts';

type Clients = Configuration['clients'];

export function fillClientRepository(clients: Clients, ids: IdGenerator): ClientRepository {
  const repository = new InMemoryClientRepository(ids);
  for (const client of clients) repository.add(client);
  return repository;
}

/** Knows `{noop}`, and makes every refusal cost as much as the dearest registration does, at least `cost`. */
export function createSecretVerifier(clients: Clients, cost: number, checks: CheckQueue): SecretVerifier {
  const highest = clients.reduce((most, client) => Math.max(most, StoredSecret.parse(client.clientSecret).cost), cost);
  return new PlainSecretVerifier(new BcryptSecretVerifier(highest, checks));
}
