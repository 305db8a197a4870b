import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { SecretRules } from '../../adapters/files/secret-reference.ts';
import type { ReadTextFile } from '../../adapters/system/read-text-file.ts';
import { failure, success } from '../../domain/result.ts';
import type { Environment } from './read-environment.ts';

/** The folders and the variables that a file may refer to. */
interface AllowedSources {
  readonly folders: readonly string[];
  readonly variables: readonly string[];
}

/**
 * Reads the secrets that a clients file refers to: a file, relative to the working directory, or a variable of the
 * environment.
 *
 * @param allowed undefined: all of them. Somebody who may change a clients file, but may not read secrets, would
 * otherwise choose which one becomes the secret of a client.
 */
export function secretSources(
  environment: Environment,
  readTextFile: ReadTextFile,
  allowed?: AllowedSources,
): SecretRules['read'] {
  return (reference) => {
    if ('env' in reference) {
      const { env } = reference;
      const name = /^[A-Z_][A-Z0-9_]*$/.test(env) ? `variable ${env}` : 'a variable';
      if (allowed && !allowed.variables.some((name) => isNamed(name, env)))
        return failure(`refers to ${name}, which --allow-env does not name`);
      const value = Object.hasOwn(environment, env) ? environment[env] : undefined;
      return value ? success(value) : failure(`refers to ${name}, which is not set: set it in the environment`);
    }
    if (!isPlain(reference.file)) return failure(`refers to ${NOT_PLAIN}`);
    // What is checked is what is read: a link to it may change meanwhile.
    const file = atEndOfLinks(reference.file);
    if (allowed && !allowed.folders.some((folder) => isInside(folder, file))) {
      return failure('refers to a file in a folder that --allow-files does not name');
    }
    const problem = problemOfFile(file);
    if (problem !== undefined) return failure(`refers to ${problem}`);
    // Where there is none, the problem quotes what the reference says, or not, if that may be a secret.
    const text = readTextFile(existsSync(file) ? file : reference.file);
    return text.ok ? text : failure(`refers to a file that ${text.problem}`);
  };
}

/** Why a generated secret may not be written to a file; undefined if it may. @param allowed undefined: to every one. */
export function secretTargets(allowed: AllowedSources | undefined): NonNullable<SecretRules['generate']> {
  return (path) => {
    if (!isPlain(path)) return `generates ${NOT_PLAIN}`;
    const target = join(atEndOfLinks(dirname(resolve(path))), basename(path));
    const isAllowed = allowed === undefined || allowed.folders.some((folder) => isInside(folder, target));
    return isAllowed ? undefined : 'generates a file in a folder that --allow-files does not name';
  };
}

/** The longest file of a secret, in bytes. */
const FILE_BYTES_MAX = 4_096;

/** What reading would wait for, or not end with. That there is no file, the reader says. */
function problemOfFile(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory()) return undefined;
  if (!found.isFile()) return 'something that is no regular file';
  return found.size > FILE_BYTES_MAX ? `a file of more than ${FILE_BYTES_MAX} bytes` : undefined;
}

const NOT_PLAIN = 'a path with .. or NUL: write it without them';

/** Behind a link, `..` is another folder for the system than in the text of the path. No path has a NUL. */
function isPlain(path: string): boolean {
  return !path.includes('\0') && !path.split(sep).includes('..');
}

/** Whether a name, which may have `*` at its end, means a variable. */
function isNamed(name: string, variable: string): boolean {
  return name.endsWith('*') ? variable.startsWith(name.slice(0, -1)) : variable === name;
}

/** Whether a file is in a folder, at the end of all links. */
function isInside(folder: string, path: string): boolean {
  const way = relative(atEndOfLinks(folder), atEndOfLinks(path));
  return way !== '' && !isAbsolute(way) && !/^\.\.([/\\]|$)/.test(way);
}

/** Of one that does not exist, the path as it is: reading it says so. */
function atEndOfLinks(path: string): string {
  try {
    return realpathSync(resolve(path));
  } catch {
    return resolve(path);
  }
}
