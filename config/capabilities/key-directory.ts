import { resolve } from 'node:path';
import { JoseKeySealer } from '../../adapters/jwt/jose-key-sealer.ts';
import { type KeySecret, readKeySecrets } from '../../adapters/jwt/key-secrets.ts';
import type { SigningThreads } from '../../adapters/jwt/signing-threads.ts';
import { createStateLog, type StateLog } from '../../adapters/log/state-log.ts';
import { readTextFileNow } from '../../adapters/system/read-text-file.ts';
import type { Dependency } from '../../application/ports/health-check.ts';
import type { KeyRingStore } from '../../application/ports/key-ring-store.ts';
import { failure } from '../../domain/result.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import type { Settings } from '../settings/settings.ts';
import { type DatabaseOptions, databaseOptions } from '../storages.ts';

/** `KEY_DIRECTORY=database`: the keys that sign are in the storage's database, sealed, and all replicas and restarts share them. */
export const keyDirectory = define({
  name: 'key-directory',
  read: ({ load }) => load('KEY_SECRET_FILE', readKeySecrets),
  register(parts, { settings }, secrets) {
    if (settings.KEY_DIRECTORY !== 'database') return;
    part(parts, LISTS.openers, (get) => async (container) => {
      const log = createStateLog(get(PARTS.log).child({ dependency: 'key directory' }));
      const options = databaseOptions(settings, get(PARTS.log), get(PARTS.processMetrics));
      const { store, dependency } = await openRing(settings, options, log);
      container.registerInstance(PARTS.sharedKeyRing, {
        store,
        sealer: sealerOf(settings, get(PARTS.signingThreads), secrets ?? []),
      });
      return dependency;
    });
  },
  async tables({ KEY_DIRECTORY, CLIENT_REPOSITORY }) {
    if (KEY_DIRECTORY !== 'database' || CLIENT_REPOSITORY !== 'postgres') return {};
    const { KEYS_POOL_SIZE } = await import('../../adapters/postgres/key-directory/postgres-key-ring.ts');
    return { inOwnPool: await keyTables(), connections: KEYS_POOL_SIZE };
  },
  createdTables: keyTables,
});

function sealerOf(
  { KEY_SECRET_FILE: path = '' }: Settings,
  threads: SigningThreads,
  secrets: readonly KeySecret[],
): JoseKeySealer {
  return new JoseKeySealer(threads, secrets, () => {
    const text = readTextFileNow(path);
    return text.ok ? readKeySecrets(text.value) : failure([text.problem]);
  });
}

async function openRing(
  settings: Settings,
  options: DatabaseOptions,
  log: StateLog,
): Promise<{ readonly store: KeyRingStore; readonly dependency: Dependency }> {
  if (settings.CLIENT_REPOSITORY === 'postgres') {
    // The ORM is loaded only where it is used: it doubles the time until a service in memory answers.
    const { openKeyRing } = await import('../../adapters/postgres/key-directory/postgres-key-ring.ts');
    return openKeyRing(options, log);
  }
  const { keyRingFileOf, SqliteKeyRing } = await import('../../adapters/sqlite/key-directory/sqlite-key-ring.ts');
  const store = SqliteKeyRing.create(keyRingFileOf(resolve(settings.DATABASE_FILE ?? '')));
  // The key ring reports itself whether a key may sign, and why not.
  const dependency: Dependency = { name: 'key directory', readiness: () => ({ ready: true }), close: async () => {} };
  return { store, dependency };
}

async function keyTables() {
  return [(await import('../../adapters/postgres/key-directory/key-ring-table.ts')).KEY_RING];
}
