import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { decoyPicker } from '../../adapters/secrets/decoy-picker.ts';
import { readTextFileNow } from '../../adapters/system/read-text-file.ts';
import type { DatabaseName } from '../../application/ports/telemetry.ts';
import { sendOnlySecrets } from '../../domain/authentication-method.ts';
import { type Core, give, PARTS } from '../container.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { followDatabaseUrl } from '../settings/database-url.ts';
import { verifiedMethods } from '../settings/verified-methods.ts';
import type { ServiceNeeds } from '../storages/storage.ts';
import { openStorage } from '../storages.ts';

/** Opens where the registrations are, and registers what is read there. */
export async function storage(configuration: Configuration, core: Core): Promise<Feature> {
  const { openClients } = await openStorage(configuration.settings);
  const opened = await openClients(needsOf(configuration, core));
  give(core, PARTS.storage, opened);
  const { dependency } = opened;
  return dependency === undefined ? {} : { checks: [dependency], close: () => dependency.close() };
}

/** What a storage is opened with. @param dependency what the log names beside each change of its state. */
export function needsOf(
  { settings, clients, keySecrets }: Configuration,
  core: Core,
  dependency?: DatabaseName,
): ServiceNeeds {
  const { DATABASE_URL, DATABASE_URL_FILE: urlFile, DATABASE_DEADLINE_MS: deadlineMs } = settings;
  const log = core.resolve(PARTS.log);
  const url = DATABASE_URL?.reveal() ?? '';
  const onProblem = (problem: string) => log.warn({ event: 'database_url_file_unusable', problem });
  return {
    clients,
    file: resolve(settings.DATABASE_FILE ?? ''),
    database: {
      url: urlFile === undefined ? url : followDatabaseUrl(urlFile, url, readTextFileNow, onProblem),
      deadlineMs,
      mayCreate: core.resolve(PARTS.mayCreate),
      measure: (use, pool) => core.resolve(PARTS.processMetrics).measureDatabase(use, pool),
    },
    poolSize: settings.DATABASE_POOL_SIZE,
    changesClients: settings.ADMIN_API,
    usesColumns: !sendOnlySecrets(verifiedMethods(settings)),
    clock: core.resolve(PARTS.clock),
    ids: core.resolve(PARTS.ids),
    pickDecoy: decoyPicker(keySecrets[0]?.decoyKey ?? randomBytes(32)),
    log: createStateLog(log, dependency && { dependency }),
  };
}
