import { resolve } from 'node:path';
import { JoseKeySealer } from '../../adapters/jwt/jose-key-sealer.ts';
import { readKeySecrets } from '../../adapters/jwt/key-secrets.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { readTextFileNow } from '../../adapters/system/read-text-file.ts';
import type { Dependency } from '../../application/ports/health-check.ts';
import type { KeyRingStore } from '../../application/ports/key-ring-store.ts';
import type { KeySealer } from '../../application/ports/key-sealer.ts';
import { failure } from '../../domain/result.ts';
import type { Feature } from '../feature.ts';
import { type Core, PARTS } from '../parts.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';
import { databaseOptions } from '../storages.ts';

export interface KeyDirectory extends Feature {
  readonly store: KeyRingStore;
  readonly sealer: KeySealer;
}

/** `KEY_DIRECTORY=database`: the keys that sign are in the storage's database, sealed, and all replicas and restarts share them. */
export async function keyDirectory(
  { settings, keySecrets }: Configuration,
  core: Core,
): Promise<KeyDirectory | undefined> {
  if (settings.KEY_DIRECTORY !== 'database') return undefined;
  const { store, dependency } = await openRing(settings, core);
  const sealer = new JoseKeySealer(core.resolve(PARTS.signingThreads), keySecrets, () => {
    const text = readTextFileNow(settings.KEY_SECRET_FILE ?? '');
    return text.ok ? readKeySecrets(text.value) : failure([text.problem]);
  });
  return { store, sealer, checks: [dependency], close: () => dependency.close() };
}

async function openRing(
  settings: Settings,
  core: Core,
): Promise<{ readonly store: KeyRingStore; readonly dependency: Dependency }> {
  if (settings.CLIENT_REPOSITORY === 'postgres') {
    // The ORM is loaded only where it is used: it doubles the time until a service in memory answers.
    const { openKeyRing } = await import('../../adapters/postgres/key-directory/postgres-key-ring.ts');
    const log = core.resolve(PARTS.log);
    const mayCreate = core.resolve(PARTS.mayCreateTables);
    const options = { ...databaseOptions(settings, log, core.resolve(PARTS.processMetrics)), mayCreate };
    return openKeyRing(options, createStateLog(log.child({ dependency: 'key directory' })));
  }
  const { keyRingFileOf, SqliteKeyRing } = await import('../../adapters/sqlite/key-directory/sqlite-key-ring.ts');
  const store = SqliteKeyRing.create(keyRingFileOf(resolve(settings.DATABASE_FILE ?? '')));
  // The key ring reports itself whether a key may sign, and why not.
  const dependency: Dependency = { name: 'key directory', readiness: () => ({ ready: true }), close: async () => {} };
  return { store, dependency };
}
