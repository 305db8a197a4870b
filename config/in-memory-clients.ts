import { InMemoryClientRepository } from '../adapters/memory/in-memory-client-repository.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import type { Configuration } from './settings/configuration.ts';

export function fillClientRepository(clients: Configuration['clients'], ids: IdGenerator): ClientRepository {
  const repository = new InMemoryClientRepository(ids);
  for (const client of clients) repository.add(client);
  return repository;
}
