import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

describe('root names', () => {
  it('npm run check refuses a file and a folder in the root that are not on the list', () => {
    const root = mkdtempSync(join(tmpdir(), 'top-level-names-'));
    try {
      execFileSync('git', ['init', '--quiet'], { cwd: root });
      for (const folder of ['docs', 'scratch', 'ignored']) {
        mkdirSync(join(root, folder));
        writeFileSync(join(root, folder, 'page.md'), '');
      }
      for (const file of ['README.md', 'planted.sh']) writeFileSync(join(root, file), '');
      writeFileSync(join(root, '.gitignore'), 'ignored\n');
      const program = resolve('tests/architecture/top-level-names.ts');
      const { status, stderr } = spawnSync(process.execPath, [program], { cwd: root, encoding: 'utf8' });
      expect(status).toBe(1);
      expect(stderr.match(/^\S+(?=:)/gm)?.toSorted()).toEqual(['planted.sh', 'scratch']);
    } finally {
      rmSync(root, { recursive: true });
    }
    expect(JSON.parse(readFileSync('package.json', 'utf8')).scripts.check).toContain(
      'tests/architecture/top-level-names.ts',
    );
  });
});

describe("MikroORM's entity manager", () => {
  /** What of it a text uses, apart from the pool and Kysely: the rest writes values into the text of statements. */
  const usedIn = (text: string) =>
    text.match(/\bem\.(?!getKysely\b|getConnection\(\)\.getNativeClient\b)\w+|\b(EntityManager|transactional)\b/g) ??
    [];

  it('runs no statement', () => {
    const files = globSync('{adapters,application,config,domain}/**/*.ts');
    expect(files.length).toBeGreaterThan(200);
    expect(files.filter((file) => usedIn(readFileSync(file, 'utf8')).length > 0)).toEqual([]);
    for (const planted of ['orm.em.find(Client)', 'em.flush()', 'orm.em.getConnection().execute(text)']) {
      expect(usedIn(planted)).toHaveLength(1);
    }
  });
});

describe('the lint rules', () => {
  const ROOT = fileURLToPath(new URL('../../', import.meta.url));

  /** Files with what takes a thread of libuv's pool, and whether each of them may. */
  const PLANTED: readonly (readonly [file: string, text: string, isRefused: boolean])[] = [
    ['adapters/system/planted-name.ts', "import { sign } from 'node:crypto';\nexport const planted = sign;", true],
    [
      'adapters/jwt/planted-other-name.ts',
      "import { verify as v } from 'node:crypto';\nexport const planted = v;",
      true,
    ],
    ['config/planted-all.ts', "import * as all from 'node:crypto';\nexport const planted = all.pbkdf2;", true],
    ['adapters/secrets/planted-default.ts', "import all from 'node:crypto';\nexport const planted = all.scrypt;", true],
    ['adapters/http/planted-later.ts', "export const { hkdf } = await import('node:crypto');", true],
    ['adapters/jwt/algorithms.ts', "import { sign } from 'node:crypto';\nexport const planted = sign;", false],
    ['adapters/system/planted-digest.ts', "import { hash } from 'node:crypto';\nexport const planted = hash;", false],
  ];

  let folder: string;
  const refused = new Set<string>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lint-rules-'));
    for (const name of ['biome.json', 'package.json']) await cp(join(ROOT, name), join(folder, name));
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const [file, text] of PLANTED) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), `${text}\n`);
    }
    const args = [join(ROOT, 'node_modules/@biomejs/biome/bin/biome'), 'lint', '--reporter=json', 'adapters', 'config'];
    const json = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, { cwd: folder }, (_error, stdout) => resolve(stdout));
    });
    for (const { category, location } of JSON.parse(json).diagnostics) {
      if (category === 'lint/style/noRestrictedImports') refused.add(location.path);
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each(PLANTED)(
    "let only the files with a bound use libuv's pool for cryptography: %s",
    (file, _text, isRefused) => {
      expect(refused.has(file)).toBe(isRefused);
    },
  );
});
