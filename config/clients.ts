import { run } from '../adapters/cli/run.ts';
import { streamClientsFile } from '../adapters/memory/clients-file.ts';
import { BcryptSecretEncoder } from '../adapters/secrets/bcrypt-secret-encoder.ts';
import { RandomSecretGenerator } from '../adapters/system/random-secret-generator.ts';
import { RandomIdGenerator } from '../adapters/system/system.ts';
import { createClientManagement } from '../application/clients/client-management.ts';
import { failure, success } from '../domain/result.ts';

/** `npm run clients`: manages the table `clients`. */
const encoder = new BcryptSecretEncoder();

process.exitCode = await run(process.argv.slice(2), process, { open, encoder, streamClientsFile });

/** The URL comes from the environment: every user of the machine can see arguments. */
async function open() {
  const url = process.env['DATABASE_URL'] ?? '';
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    return failure('DATABASE_URL: must be set in the environment, to a postgresql:// URL.');
  }
  // Loaded here, since the ORM takes longer to load than everything else. Help pages and `hash` do not need it.
  const { PostgresClientStore } = await import('../adapters/postgres/postgres-client-store.ts');
  const store = await PostgresClientStore.open(url);
  const parts = { store, encoder, generator: new RandomSecretGenerator(), ids: new RandomIdGenerator() };
  return success({ ...createClientManagement(parts), close: () => store.close() });
}
