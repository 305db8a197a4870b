import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  inspectKeyFile,
  inspectKeySecretFile,
  inspectMemory,
  inspectOpenFiles,
  inspectWritableFile,
} from '../../../adapters/system/inspect-host.ts';

const GB = 1_000_000_000;

const OPTIONAL = { isRequired: false };

/** A new folder on a file system of 64 KB that is full; undefined where this user may not mount one. */
function fullFolder(): (Disposable & { readonly path: string }) | undefined {
  const path = mkdtempSync(join(tmpdir(), 'full-'));
  const dispose = () => {
    spawnSync('umount', [path]);
    rmdirSync(path);
  };
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path]).status !== 0) {
    process.stdout.write('The test of a full disk did not run: this user may not mount a file system.\n');
    rmdirSync(path);
    return undefined;
  }
  spawnSync('dd', ['if=/dev/zero', `of=${join(path, 'filler')}`]);
  return { path, [Symbol.dispose]: dispose };
}

describe('inspectMemory', () => {
  it('compares what the service needs with the memory of the machine or container', () => {
    expect(inspectMemory(8 * GB)).toEqual([
      { state: 'ok', text: 'the service may need 320 MB, and this machine or container has 8,000 MB' },
    ]);
    expect(inspectMemory(GB / 10)).toEqual([
      {
        state: 'problem',
        text: 'the service may need 320 MB, and this machine or container has 100 MB',
        cure: 'give it at least 320 MB',
      },
    ]);
  });
});

describe('inspectOpenFiles', () => {
  it.each([
    ['ok', 20_000, undefined],
    ['ok', Infinity, undefined],
    ['note', 1_024, /^raise the limit to 10228: /],
    ['problem', 200, /^raise the limit to 10228: /],
  ])('finds %s with a limit of %d', (state, limit, cure) => {
    const [finding] = inspectOpenFiles({ limit, reserved: 100 }, 10_000);
    expect(finding?.state).toBe(state);
    if (cure !== undefined) expect(finding?.cure).toMatch(cure);
  });
});

describe('files', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'inspect-host-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ['ok', 0o600],
    ['note', 0o640],
    ['problem', 0o620],
  ])('inspectKeyFile finds %s with mode %o', async (state, mode) => {
    const file = join(folder, 'key');
    await writeFile(file, '');
    await chmod(file, mode);
    expect(inspectKeyFile(file, 'forge tokens')).toEqual([
      expect.objectContaining({ state, text: expect.stringContaining(file) }),
    ]);
  });

  it.each([
    ['ok', 0o440],
    ['note', 0o444],
    ['problem', 0o620],
  ])('inspectKeySecretFile finds %s with mode %o', async (state, mode) => {
    const file = join(folder, 'secret');
    await rm(file, { force: true });
    await writeFile(file, '');
    await chmod(file, mode);
    expect(inspectKeySecretFile(file)).toMatchObject([{ state, text: expect.stringContaining(file) }]);
  });

  it('inspectWritableFile accepts a file and one that can be made, makes none, and names a missing folder', async () => {
    const [existing, fresh] = [join(folder, 'existing'), join(folder, 'fresh')];
    await writeFile(existing, '');
    for (const file of [existing, fresh])
      expect(inspectWritableFile(file, OPTIONAL)).toMatchObject([
        { text: expect.stringContaining(`${file} can be written`) },
      ]);
    expect(inspectWritableFile(join(folder, 'none/audit.log'), OPTIONAL)).toEqual([
      {
        state: 'problem',
        text: `${folder}/none/audit.log cannot be written (ENOENT)`,
        cure: `mkdir -p ${folder}/none, and give it to the user of the service`,
      },
    ]);
    await mkdir(join(folder, 'directory'));
    expect(inspectWritableFile(join(folder, 'directory'), OPTIONAL)).toMatchObject([{ state: 'note' }]);
    await expect(import('node:fs/promises').then(({ stat }) => stat(fresh))).rejects.toThrow('ENOENT');
  });

  it('inspectWritableFile finds that the disk of a required file is full, and that one of another file is nearly so', () => {
    using full = fullFolder();
    if (full === undefined) return;
    const file = join(full.path, 'audit.log');
    expect(() => writeFileSync(file, 'a line')).toThrow('ENOSPC');
    expect(inspectWritableFile(file, { isRequired: true })).toEqual([
      {
        state: 'problem',
        text: `${file} can be written, and its disk has 0 MB left: nobody gets a token without AUDIT_FILE`,
        cure: 'free space, or rotate the file',
      },
    ]);
    expect(inspectWritableFile(file, OPTIONAL)).toMatchObject([{ state: 'note' }]);
  });
});
