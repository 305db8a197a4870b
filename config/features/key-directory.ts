import { JoseKeySealer } from '../../adapters/jwt/jose-key-sealer.ts';
import { readKeySecrets } from '../../adapters/jwt/key-secrets.ts';
import { readTextFileNow } from '../../adapters/system/read-text-file.ts';
import type { KeyRingStore } from '../../application/ports/key-ring-store.ts';
import type { KeySealer } from '../../application/ports/key-sealer.ts';
import { failure } from '../../domain/result.ts';
import { type Core, PARTS } from '../container.ts';
import { needsOf } from '../core/storage.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { openStorage } from '../storages.ts';

export interface KeyDirectory extends Feature {
  readonly store: KeyRingStore;
  readonly sealer: KeySealer;
}

/**
 * `KEY_DIRECTORY=database`: the keys that sign are in the storage's database, sealed, and all replicas and restarts
 * share them.
 */
export async function keyDirectory(configuration: Configuration, core: Core): Promise<KeyDirectory | undefined> {
  const { settings, keySecrets } = configuration;
  if (settings.KEY_DIRECTORY !== 'database') return undefined;
  const { openKeyRing } = await openStorage(settings);
  if (openKeyRing === undefined) throw new Error(`${settings.CLIENT_REPOSITORY} keeps no keys`);
  const { store, dependency } = await openKeyRing(needsOf(configuration, core, 'key directory'));
  const sealer = new JoseKeySealer(core.resolve(PARTS.signingThreads), keySecrets, () => {
    const text = readTextFileNow(settings.KEY_SECRET_FILE ?? '');
    return text.ok ? readKeySecrets(text.value) : failure([text.problem]);
  });
  return { store, sealer, checks: [dependency], close: () => dependency.close() };
}
