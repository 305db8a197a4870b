import { resolve } from 'node:path';
import type { ReadTextFile } from '../../adapters/system/read-text-file.ts';
import { inWords, type Problem } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { databaseFileProblems, readUrlFile } from './database-url.ts';
import { type Environment, readEnvironment } from './read-environment.ts';
import { storage } from './storage-settings.ts';

const NAME_ONE = 'set DATABASE_FILE (SQLite) or DATABASE_URL (PostgreSQL) in the environment';
const NOT_MANAGED = 'CLIENT_REPOSITORY: is memory, and this program does not manage a clients file, which you edit';
const TWO =
  'DATABASE_FILE: is set, and so is DATABASE_URL: unset one of them, or set CLIENT_REPOSITORY to sqlite or postgres';

/** Where the registrations are. What the storage does not need is empty. */
interface Database {
  readonly CLIENT_REPOSITORY: 'sqlite' | 'postgres';
  readonly file: string;
  readonly url: string;
}

/**
 * Where a program finds the registrations: CLIENT_REPOSITORY says it, or the only setting that names a database. Fails
 * with the problems of these settings, a line each, and never with a value. A URL comes from the environment: every
 * user of the machine can see arguments.
 */
export function databaseOf(environment: Environment, readTextFile: ReadTextFile): Result<Database, string> {
  const { CLIENT_REPOSITORY: named, DATABASE_FILE: file, DATABASE_URL: url, DATABASE_URL_FILE: urlFile } = environment;
  const isNamed = named === 'sqlite' || named === 'postgres';
  if (!isNamed && file && (url || urlFile)) return failure(TWO);
  const CLIENT_REPOSITORY = isNamed ? named : file ? 'sqlite' : 'postgres';
  const read = readEnvironment(storage, [], { ...environment, CLIENT_REPOSITORY });
  if (!isNamed && !file && !url && !urlFile) {
    const others = read.ok ? [] : read.problem.filter(({ code }) => code !== 'DATABASE_URL');
    return failure(
      inLines([{ code: '', text: named === 'memory' ? NOT_MANAGED : 'The database', fix: NAME_ONE }, ...others]),
    );
  }
  if (!read.ok) return failure(inLines(read.problem));
  if (CLIENT_REPOSITORY === 'sqlite') return success({ CLIENT_REPOSITORY, file: resolve(file ?? ''), url: '' });
  const found = url ? success(url) : readUrlFile(urlFile ?? '', readTextFile);
  if (!found.ok) return found;
  const problems = databaseFileProblems(found.value, environment, readTextFile);
  return problems.length > 0 ? failure(inLines(problems)) : success({ CLIENT_REPOSITORY, file: '', url: found.value });
}

function inLines(problems: readonly Problem[]): string {
  return problems.map(inWords).join('\n');
}
