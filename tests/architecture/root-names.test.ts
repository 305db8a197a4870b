import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';

it('npm run check refuses a file and a folder in the root that are not on the list', () => {
  const root = mkdtempSync(join(tmpdir(), 'root-names-'));
  try {
    execFileSync('git', ['init', '--quiet'], { cwd: root });
    for (const folder of ['docs', 'scratch', 'ignored']) {
      mkdirSync(join(root, folder));
      writeFileSync(join(root, folder, 'page.md'), '');
    }
    for (const file of ['README.md', 'planted.sh']) writeFileSync(join(root, file), '');
    writeFileSync(join(root, '.gitignore'), 'ignored\n');
    const program = resolve('tests/architecture/root-names.ts');
    const { status, stderr } = spawnSync(process.execPath, [program], { cwd: root, encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr.match(/^\S+(?=:)/gm)?.toSorted()).toEqual(['planted.sh', 'scratch']);
  } finally {
    rmSync(root, { recursive: true });
  }
  expect(JSON.parse(readFileSync('package.json', 'utf8')).scripts.check).toContain('tests/architecture/root-names.ts');
});
