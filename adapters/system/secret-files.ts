import { constants } from 'node:fs';
import { access, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SecretFiles } from '../../application/ports/secret-files.ts';

/** The files of generated secrets, in the file system. */
export const secretFiles: SecretFiles = {
  exists: (path) =>
    access(path, constants.F_OK).then(
      () => true,
      () => false,
    ),
  async write(path, secret) {
    try {
      await writeFile(path, `${secret}\n`, { flag: 'wx', mode: 0o600 });
      return undefined;
    } catch (fault) {
      const { code = 'unknown fault' } = fault as NodeJS.ErrnoException;
      return `The file ${resolve(path)} cannot be written (${code}).`;
    }
  },
  remove: (path) => rm(path, { force: true }).catch(() => {}),
};
