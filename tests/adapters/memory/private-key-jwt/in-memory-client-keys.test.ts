import { InMemoryClientRepository } from '../../../../adapters/memory/in-memory-client-repository.ts';
import { inMemoryClientKeys } from '../../../../adapters/memory/private-key-jwt/in-memory-client-keys.ts';
import { RandomIdGenerator } from '../../../../adapters/system/system.ts';
import { describeClientKeys } from '../../../contracts/client-keys.ts';
import { FixedClock } from '../../../support/fixed-clock.ts';

describeClientKeys('inMemoryClientKeys', async (clients) =>
  inMemoryClientKeys(new InMemoryClientRepository(new RandomIdGenerator(), new FixedClock(), clients), clients),
);
