import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import bcrypt from 'bcrypt';

/** One entry of a clients file, and the columns of a row. */
export interface Registration {
  readonly client_id: string;
  /** As it is stored: a BCrypt encoding, or `{noop}` and the secret. */
  readonly client_secret: string;
  readonly client_name: string;
  readonly scope: string;
}

/** The secret of every good client of the benchmark. */
export const SECRET = 'a-secret-of-the-benchmark-32-byte';

/** How SECRET is stored at a BCrypt cost. */
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

/** The path of a clients file in the folder. */
export async function writeClientsFile(
  folder: string,
  name: string,
  clients: readonly Registration[],
): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(clients));
  return path;
}
