import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
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
 * Reads the secrets that a clients file refers to: a file, relative to the working directory, or a variable of the environment.
 *
 * @param allowed undefined: all of them. Somebody who may change a clients file, but may not read secrets, would otherwise choose
 * which one becomes the secret of a client.
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
      const value = environment[env];
      return value ? success(value) : failure(`refers to ${name}, which is not set: set it in the environment`);
    }
    if (allowed && !allowed.folders.some((folder) => isInside(folder, reference.file))) {
      return failure('refers to a file in a folder that --allow-files does not name');
    }
    const text = readTextFile(reference.file);
    return text.ok ? text : failure(`refers to a file that ${text.problem}`);
  };
}

/** Whether a name, which may have `*` at its end, means a variable. */
function isNamed(name: string, variable: string): boolean {
  return name.endsWith('*') ? variable.startsWith(name.slice(0, -1)) : variable === name;
}

/** Whether a file is in a folder, at the end of all links. One that does not exist is not. */
function isInside(folder: string, path: string): boolean {
  try {
    const way = relative(realpathSync(resolve(folder)), realpathSync(resolve(path)));
    return way !== '' && !isAbsolute(way) && !/^\.\.([/\\]|$)/.test(way);
  } catch {
    return false;
  }
}
