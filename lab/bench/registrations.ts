import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import bcrypt from 'bcrypt';

/** One entry of a clients file, and the columns of a row. */
export interface Registration {
  readonly client_id: string;
  /** In its stored form: a BCrypt encoding, or `{noop}` and the secret. */
  readonly client_secret: string;
  readonly client_name: string;
  readonly scope: string;
}

/** The secret of every legitimate client of the benchmark. */
export const SECRET = 'a-secret-of-the-benchmark-32-byte';

/** The BCrypt cost that the service recommends. */
export const RECOMMENDED_COST = 10;

/** The stored form of SECRET at a BCrypt cost. */
export function hashedSecret(cost: number): Promise<string> {
  return bcrypt.hash(SECRET, cost);
}

/** `PREFIX-1` to `PREFIX-COUNT`, all with the same stored secret. */
export function registrations(prefix: string, count: number, storedSecret: string): readonly Registration[] {
  return Array.from({ length: count }, (_, n) => ({
    client_id: `${prefix}-${n + 1}`,
    client_secret: storedSecret,
    client_name: `Client ${n + 1}`,
    scope: 'read write',
  }));
}

/** Writes a clients file that is removed at the end, and returns its path. */
export async function writeClientsFile(
  clients: readonly Registration[],
  opened: AsyncDisposableStack,
): Promise<string> {
  const path = join(await temporaryFolder(opened), 'clients.json');
  await writeFile(path, JSON.stringify(clients));
  return path;
}

/** An empty folder that is removed at the end. */
export async function temporaryFolder(opened: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
