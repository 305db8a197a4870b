import { constants } from 'node:fs';
import { access, type FileHandle, open, rm } from 'node:fs/promises';
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
    let file: FileHandle | undefined;
    try {
      file = await open(path, 'wx', 0o600);
      await file.writeFile(`${secret}\n`);
      await file.close();
      return undefined;
    } catch (fault) {
      await file?.close().catch(() => {});
      // It is ours, and has only a part of the secret.
      if (file !== undefined) await this.remove(path);
      const { code = 'unknown fault' } = fault as NodeJS.ErrnoException;
      return `The file ${resolve(path)} cannot be written (${code}).`;
    }
  },
  remove: (path) => rm(path, { force: true }).catch(() => {}),
};
