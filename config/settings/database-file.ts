import { resolve } from 'node:path';
import { failure, type Result, success } from '../../domain/result.ts';
import { similarNames } from './database-url.ts';
import type { Environment } from './read-environment.ts';

const NOT_MANAGED = 'and this program does not manage a clients file, which you edit';
const NAME_ONE = 'set DATABASE_FILE (SQLite) or DATABASE_URL (PostgreSQL) in the environment.';
const OWN_NAMES = ['DATABASE_FILE', 'DATABASE_URL', 'DATABASE_URL_FILE'];

/**
 * The file in which a program finds the registrations: CLIENT_REPOSITORY says it, or the only setting that names a database.
 * Undefined: they are in PostgreSQL. Fails if no setting says where, or two do.
 */
export function databaseFileOf(environment: Environment): Result<string | undefined, string> {
  const { CLIENT_REPOSITORY, DATABASE_FILE, DATABASE_URL, DATABASE_URL_FILE } = environment;
  const isUrl = Boolean(DATABASE_URL || DATABASE_URL_FILE);
  if (!DATABASE_FILE && !isUrl) {
    if (CLIENT_REPOSITORY === 'memory') return failure(`CLIENT_REPOSITORY: is memory, ${NOT_MANAGED}: ${NAME_ONE}`);
    if (!CLIENT_REPOSITORY) return failure(`The database: ${NAME_ONE}${similarNames(environment, OWN_NAMES)}`);
  }
  if (CLIENT_REPOSITORY === 'postgres' || (CLIENT_REPOSITORY !== 'sqlite' && !DATABASE_FILE)) return success(undefined);
  if (!DATABASE_FILE) return failure('DATABASE_FILE: must be set if CLIENT_REPOSITORY is sqlite.');
  return CLIENT_REPOSITORY !== 'sqlite' && isUrl
    ? failure(
        'DATABASE_FILE: is set, and so is DATABASE_URL: unset one of them, or set CLIENT_REPOSITORY to sqlite or postgres.',
      )
    : success(resolve(DATABASE_FILE));
}
