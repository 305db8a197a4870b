import type { StatementTimes } from '../../application/ports/telemetry.ts';
import { followFigures } from '../../application/storage-figures.ts';
import { type FileLog, FileReader } from './file-reader.ts';
import { SqliteClientRepository, sqliteClientResources } from './sqlite-client-repository.ts';

/** The repository on a file, what of it expires soon, and the costs of its secrets. Throws FileUnusable if waiting would not help. */
export async function openClientRepository(path: string, log: FileLog, times?: StatementTimes) {
  const file = await FileReader.open(path, log, times);
  const clients = new SqliteClientRepository(file, log);
  // While the file cannot be read, it says so itself.
  const figures = followFigures(file, {
    countExpiring: () => clients.countExpiring().catch(() => ({})),
    findCosts: () => clients.findCosts().catch(() => undefined),
  });
  return {
    clients,
    resources: sqliteClientResources(file),
    file,
    ...figures,
  };
}
