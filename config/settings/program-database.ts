import { resolve } from 'node:path';
import type { ReadTextFile } from '../../adapters/system/read-text-file.ts';
import { inWords } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { databaseFileProblems, databaseUrlProblem, readUrlFile } from './database-url.ts';
import type { Environment } from './read-environment.ts';
import { settingMeantBy } from './similar-names.ts';

const URL_NAMES = ['DATABASE_URL', 'DATABASE_URL_FILE'];
const NOT_MANAGED = 'and this program does not manage a clients file, which you edit';
const NAME_ONE = 'set DATABASE_FILE (SQLite) or DATABASE_URL (PostgreSQL) in the environment.';

/** Where the registrations are. What the storage does not need is empty. */
interface Database {
  readonly CLIENT_REPOSITORY: 'sqlite' | 'postgres';
  readonly file: string;
  readonly url: string;
}

/**
 * Where a program finds the registrations: CLIENT_REPOSITORY says it, or the only setting that names a database. Fails
 * if no setting says where, or two do, and never with a value. A URL comes from the environment: every user of the
 * machine can see arguments.
 */
export function databaseOf(environment: Environment, readTextFile: ReadTextFile): Result<Database, string> {
  const { CLIENT_REPOSITORY: repository, DATABASE_FILE: file, DATABASE_URL, DATABASE_URL_FILE } = environment;
  const hasUrl = Boolean(DATABASE_URL || DATABASE_URL_FILE);
  if (!file && !hasUrl) {
    if (repository === 'memory') return failure(`CLIENT_REPOSITORY: is memory, ${NOT_MANAGED}: ${NAME_ONE}`);
    const similar = similarNames(environment, ['DATABASE_FILE', ...URL_NAMES]);
    if (!repository) return failure(`The database: ${NAME_ONE}${similar}`);
  }
  if (repository === 'postgres' || (repository !== 'sqlite' && !file)) {
    const url = databaseUrlOf(environment, readTextFile);
    return url.ok ? success({ CLIENT_REPOSITORY: 'postgres', file: '', url: url.value }) : url;
  }
  if (!file) return failure('DATABASE_FILE: must be set if CLIENT_REPOSITORY is sqlite.');
  return repository !== 'sqlite' && hasUrl
    ? failure(
        'DATABASE_FILE: is set, and so is DATABASE_URL: unset one of them, or set CLIENT_REPOSITORY to sqlite or postgres.',
      )
    : success({ CLIENT_REPOSITORY: 'sqlite', file: resolve(file), url: '' });
}

/** The URL of a program that needs no other setting. Fails with the setting and the rule, never with a value. */
export function databaseUrlOf(environment: Environment, readTextFile: ReadTextFile): Result<string, string> {
  const url = givenUrl(environment, readTextFile);
  if (!url.ok) return url;
  const [problem] = databaseFileProblems(url.value, environment, readTextFile);
  return problem === undefined ? url : failure(`${inWords(problem)}.`);
}

function givenUrl(environment: Environment, readTextFile: ReadTextFile): Result<string, string> {
  const { DATABASE_URL, DATABASE_URL_FILE } = environment;
  if (DATABASE_URL && DATABASE_URL_FILE) return failure('DATABASE_URL: must not be set if DATABASE_URL_FILE is set.');
  if (DATABASE_URL_FILE) return readUrlFile(DATABASE_URL_FILE, readTextFile);
  if (DATABASE_URL) {
    const problem = databaseUrlProblem(DATABASE_URL);
    return problem === undefined ? success(DATABASE_URL) : failure(`DATABASE_URL: ${problem}.`);
  }
  return failure(
    `DATABASE_URL: must be set in the environment, to a postgresql:// URL.${similarNames(environment, URL_NAMES)}`,
  );
}

/** A sentence about a variable that is probably a mistake, to append; empty if there is none. */
function similarNames(environment: Environment, settings: readonly string[]): string {
  const similar = Object.keys(environment).find(
    (name) => environment[name] && !settings.includes(name) && settingMeantBy(name, settings) !== undefined,
  );
  return similar === undefined ? '' : ` ${similar} is set: did you mean ${settingMeantBy(similar, settings)}?`;
}
