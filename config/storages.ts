import type { Storage, StoragePrograms } from './storages/storage.ts';

/** How a storage is loaded, and the setting that says where it is. */
type StorageEntry = readonly [place: 'CLIENTS_FILE' | 'DATABASE_FILE' | 'DATABASE_URL', load: () => Promise<Storage>];

/**
 * The values of CLIENT_REPOSITORY. Each is loaded only where it is used: the ORM doubles the time until a service in
 * memory issues tokens.
 */
const STORAGES = {
  memory: ['CLIENTS_FILE', async () => (await import('./storages/memory.ts')).memory],
  sqlite: ['DATABASE_FILE', async () => (await import('./storages/sqlite.ts')).sqlite],
  postgres: ['DATABASE_URL', async () => (await import('./storages/postgres.ts')).postgres],
} satisfies Readonly<Record<string, StorageEntry>>;

type StorageName = keyof typeof STORAGES;

export const STORAGE_NAMES = Object.keys(STORAGES) as readonly StorageName[];

/** The setting that says where a storage is; undefined for an unknown name. */
export function placeOf(repository = ''): StorageEntry[0] | undefined {
  return Object.hasOwn(STORAGES, repository) ? STORAGES[repository as StorageName][0] : undefined;
}

/** What the programs work on. Rejects for a storage that they do not know. */
export async function openPrograms(settings: { readonly CLIENT_REPOSITORY: StorageName }): Promise<StoragePrograms> {
  const { programs } = await openStorage(settings);
  if (programs === undefined) throw new Error(`no program manages ${settings.CLIENT_REPOSITORY}`);
  return programs;
}

/** The storage that the settings name, with all of its ports: the only place that chooses one. Opens nothing. */
export function openStorage(settings: { readonly CLIENT_REPOSITORY: StorageName }): Promise<Storage> {
  const [, load] = STORAGES[settings.CLIENT_REPOSITORY];
  return load();
}
