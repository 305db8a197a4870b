import { resolve } from 'node:path';
import { failure, type Result, success } from '../../domain/result.ts';
import type { Environment } from './read-environment.ts';

/**
 * The file in which a program finds the registrations: CLIENT_REPOSITORY says it, or the only setting that names a database.
 * Undefined: they are in PostgreSQL.
 */
export function databaseFileOf({
  CLIENT_REPOSITORY,
  DATABASE_FILE,
  DATABASE_URL,
  DATABASE_URL_FILE,
}: Environment): Result<string | undefined, string> {
  const isUrl = Boolean(DATABASE_URL || DATABASE_URL_FILE);
  if (CLIENT_REPOSITORY === 'postgres' || (CLIENT_REPOSITORY !== 'sqlite' && !DATABASE_FILE)) return success(undefined);
  if (!DATABASE_FILE) return failure('DATABASE_FILE: must be set if CLIENT_REPOSITORY is sqlite.');
  return CLIENT_REPOSITORY !== 'sqlite' && isUrl
    ? failure('DATABASE_FILE: is set, and so is DATABASE_URL: set CLIENT_REPOSITORY to sqlite or postgres.')
    : success(resolve(DATABASE_FILE));
}
