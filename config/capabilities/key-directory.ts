import { createStateLog } from '../../adapters/log/state-log.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { databaseOptions } from '../storages.ts';

/** `KEY_DIRECTORY=postgres`: replicas share their public keys in a table, and each accepts the tokens of all. */
export const keyDirectory = define({
  name: 'key-directory',
  register(parts, { settings }) {
    if (settings.KEY_DIRECTORY !== 'postgres') return;
    part(parts, LISTS.openers, (get) => async (container) => {
      // The ORM is loaded only where it is used: it doubles the time until a service in memory answers.
      const { openKeyDirectory } = await import('../../adapters/postgres/key-directory/postgres-key-directory.ts');
      const log = createStateLog(get(PARTS.log).child({ dependency: 'key directory' }));
      const options = databaseOptions(settings, get(PARTS.log), get(PARTS.processMetrics));
      const { adapter, replicas, dependency } = await openKeyDirectory(options, log);
      container.registerInstance(PARTS.sharedKeyDirectory, adapter);
      container.registerInstance(PARTS.replicaRegister, replicas);
      return dependency;
    });
  },
  async tables({ KEY_DIRECTORY }) {
    if (KEY_DIRECTORY !== 'postgres') return {};
    const { KEYS_POOL_SIZE } = await import('../../adapters/postgres/key-directory/postgres-key-directory.ts');
    return { inOwnPool: await keyTables(), connections: KEYS_POOL_SIZE };
  },
  createdTables: keyTables,
});

async function keyTables() {
  const { SIGNING_KEYS, SIGNING_KEY_STATES } = await import('../../adapters/postgres/key-directory/key-tables.ts');
  return [SIGNING_KEYS, SIGNING_KEY_STATES];
}
