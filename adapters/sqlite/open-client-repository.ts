import { PeriodicTask } from '../../application/periodic-task.ts';
import type { StatementTimes } from '../../application/ports/telemetry.ts';
import type { ExpiringCredentials } from '../../domain/client-details.ts';
import { type FileLog, FileReader } from './file-reader.ts';
import { SqliteClientRepository } from './sqlite-client-repository.ts';
import { SqliteClientResources } from './sqlite-client-resources.ts';

/** Between two counts of what expires within 30 days, which changes slowly. */
const EXPIRING_COUNTED_EVERY_MS = 60_000;
const COSTS_RETRY_MS = 1_000;

/** The repository on a file, what of it expires soon, and the costs of its secrets. Throws FileUnusable if waiting would not help. */
export async function openClientRepository(path: string, log: FileLog, times?: StatementTimes) {
  const file = await FileReader.open(path, log, times);
  const clients = new SqliteClientRepository(file, log);
  let expiring: Partial<ExpiringCredentials> = {};
  const counting = new PeriodicTask(async () => {
    expiring = attempt(() => clients.countExpiring()) ?? {};
    return EXPIRING_COUNTED_EVERY_MS;
  });
  void counting.start();
  const tasks = [counting];
  return {
    clients,
    resources: new SqliteClientResources(file),
    file,
    expiring: () => expiring,
    /** Resolves after the first attempt to read the BCrypt costs of stored secrets. */
    readCosts(onFound: (costs: readonly number[]) => void): Promise<void> {
      const reading = new PeriodicTask(async () => {
        const costs = attempt(() => clients.findCosts());
        onFound(costs ?? []);
        return costs === undefined ? COSTS_RETRY_MS : undefined;
      });
      tasks.push(reading);
      return reading.start();
    },
    dependency: {
      name: file.name,
      readiness: () => file.readiness(),
      async close() {
        for (const task of tasks) task.close();
        await file.close();
      },
    },
  };
}

/** Undefined while the file cannot be read, which it says itself. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
