import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { TOKENS } from '../../config/tokens.ts';
import { clientsTable } from '../support/clients-table.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { type ServiceOptions, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { ProviderStates, type Registrations } from './provider-states.ts';

/** The real service, and the states that contracts want it in. */
export interface ProviderUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly states: ProviderStates;
}

export type Repository = 'memory' | 'postgres';

/** Starts the service with no client registered; its clock stands still. */
export function startProvider(repository: Repository): Promise<ProviderUnderTest> {
  return repository === 'memory' ? startInMemory() : startOnPostgres();
}

async function startInMemory(): Promise<ProviderUnderTest> {
  const clock = new FixedClock();
  const service = await start(clock, { clients: [] });
  const repository = service.container.resolve(TOKENS.clientRepository);
  if (!(repository instanceof InMemoryClientRepository)) throw new Error('the repository is another one');
  const registrations: Registrations = {
    add: async (client) => repository.add(client),
    remove: async (clientId) => repository.remove(clientId),
  };
  return {
    url: service.url,
    states: new ProviderStates(service, registrations, clock),
    [Symbol.asyncDispose]: () => service.stop(),
  };
}

async function startOnPostgres(): Promise<ProviderUnderTest> {
  const clock = new FixedClock();
  const database = await createTestDatabase();
  const service = await start(clock, {
    environment: { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url },
  });
  return {
    url: service.url,
    states: new ProviderStates(service, clientsTable(database), clock),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await database.drop();
    },
  };
}

function start(clock: FixedClock, { environment, ...options }: ServiceOptions): Promise<ServiceUnderTest> {
  return startServiceUnderTest({
    ...options,
    environment: { PUBLIC_METADATA: 'true', ...environment },
    override: (container) => container.registerInstance(TOKENS.clock, clock),
  });
}
