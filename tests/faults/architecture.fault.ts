import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDERS = ['domain', 'application', 'adapters', 'config', 'tests', 'lab'];

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

/** Runs the project's own rules and configuration on a folder. */
async function violationsIn(folder: string): Promise<readonly Violation[]> {
  const cruiser = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const args = [cruiser, '--config', join(folder, '.dependency-cruiser.mjs'), '--output-type', 'json', ...FOLDERS];
  const json = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }, (_error, stdout) => resolve(stdout));
  });
  return JSON.parse(json).summary.violations;
}

/** For each rule, one file that violates it. Importing only a type is a violation too. */
const PLANTED: Readonly<Record<string, { readonly file: string; readonly text: string }>> = {
  'domain-is-pure': {
    file: 'domain/planted.ts',
    text: "import { readFileSync } from 'node:fs';\nexport const read = readFileSync;",
  },
  'application-knows-the-domain-and-its-ports': {
    file: 'application/planted.ts',
    text: "import type { SystemClock } from '../adapters/system/system.ts';\nexport type Planted = SystemClock;",
  },
  'ports-are-types-on-the-domain': {
    file: 'application/ports/planted.ts',
    text: "import type { IssueToken } from '../issue-token.ts';\nexport type Planted = IssueToken;",
  },
  'adapters-import-no-outer-folder': {
    file: 'adapters/system/planted.ts',
    text: "import type { Settings } from '../../config/settings/settings.ts';\nexport type Planted = Settings;",
  },
  'no-adapter-imports-another': {
    file: 'adapters/memory/planted.ts',
    text: "import type { SystemClock } from '../system/system.ts';\nexport type Planted = SystemClock;",
  },
  'databases-know-only-their-statements': {
    file: 'adapters/sqlite/planted-fault.ts',
    text: "import type { TableUnusable } from '../postgres/fault.ts';\nexport type Planted = TableUnusable;",
  },
  'the-core-knows-no-feature': {
    file: 'adapters/http/server/planted.ts',
    text: "import type { MinuteHistory } from '../status-page/minute-history.ts';\nexport type Planted = MinuteHistory;",
  },
  'no-feature-imports-another': {
    file: 'application/federated-jwt/planted.ts',
    text: "import type { UseAssertion } from '../private-key-jwt/use-assertion.ts';\nexport type Planted = UseAssertion;",
  },
  'cli-uses-its-own-packages': {
    file: 'adapters/cli/planted.ts',
    text: "import type { z } from 'zod';\nexport type Planted = z.ZodString;",
  },
  'fetch-uses-its-own-packages': {
    file: 'adapters/fetch/planted-koa.ts',
    text: "import type Koa from 'koa';\nexport type Planted = Koa;",
  },
  'files-uses-its-own-packages': {
    file: 'adapters/files/planted.ts',
    text: "import { LRUCache } from 'lru-cache';\nexport const planted = LRUCache;",
  },
  'http-uses-its-own-packages': {
    file: 'adapters/http/planted-jose.ts',
    text: "import type { JWK } from 'jose';\nexport type Planted = JWK;",
  },
  'http-client-uses-its-own-packages': {
    file: 'adapters/http-client/planted-lru-cache.ts',
    text: "import { LRUCache } from 'lru-cache';\nexport const planted = LRUCache;",
  },
  'jwt-uses-its-own-packages': {
    file: 'adapters/jwt/planted-koa.ts',
    text: "import type Koa from 'koa';\nexport type Planted = Koa;",
  },
  'log-uses-its-own-packages': {
    file: 'adapters/log/planted-metrics.ts',
    text: "import { Counter } from '@prometheus-io/client';\nexport const planted = Counter;",
  },
  'memory-uses-its-own-packages': {
    file: 'adapters/memory/planted-orm.ts',
    text: "import type { MikroORM } from '@mikro-orm/postgresql';\nexport type Planted = MikroORM;",
  },
  'tracing-uses-its-own-packages': {
    file: 'adapters/tracing/planted-koa.ts',
    text: "import type Koa from 'koa';\nexport type Planted = Koa;",
  },
  'tls-uses-its-own-packages': {
    file: 'adapters/tls/planted-koa.ts',
    text: "import type Koa from 'koa';\nexport type Planted = Koa;",
  },
  'postgres-uses-its-own-packages': {
    file: 'adapters/postgres/planted-koa.ts',
    text: "import type Koa from 'koa';\nexport type Planted = Koa;",
  },
  'prom-client-uses-its-own-packages': {
    file: 'adapters/prom-client/planted-commander.ts',
    text: "import type { Command } from 'commander';\nexport type Planted = Command;",
  },
  'secrets-uses-its-own-packages': {
    file: 'adapters/secrets/planted-commander.ts',
    text: "import { Command } from 'commander';\nexport const planted = Command;",
  },
  'sql-uses-its-own-packages': {
    file: 'adapters/sql/planted-commander.ts',
    text: "import { Command } from 'commander';\nexport const planted = Command;",
  },
  'sqlite-uses-its-own-packages': {
    file: 'adapters/sqlite/planted-commander.ts',
    text: "import { Command } from 'commander';\nexport const planted = Command;",
  },
  'system-uses-its-own-packages': {
    file: 'adapters/system/planted-bcrypt.ts',
    text: "import bcrypt from 'bcrypt';\nexport const planted = bcrypt;",
  },
  'adapters-are-listed': {
    file: 'adapters/unlisted/planted.ts',
    text: "import { LRUCache } from 'lru-cache';\nexport const planted = LRUCache;",
  },
  'bcrypt-runs-within-its-bound': {
    file: 'config/planted-bcrypt.ts',
    text: "import bcrypt from 'bcrypt';\nexport const planted = bcrypt;",
  },
  'only-config-wires': {
    file: 'adapters/jwt/planted-wiring.ts',
    text: "import type { InjectionToken } from 'tsyringe';\nexport type Planted = InjectionToken;",
  },
  'production-imports-no-test': {
    file: 'config/planted.ts',
    text: "import { FixedClock } from '../tests/support/fixed-clock.ts';\nexport const planted = FixedClock;",
  },
  'only-faults-use-the-laboratory': {
    file: 'tests/planted.ts',
    text: "import { say } from '../lab/bench/report.ts';\nexport const planted = say;",
  },
  'production-uses-production-packages': {
    file: 'config/planted-development.ts',
    text: "import fc from 'fast-check';\nexport const planted = fc;",
  },
  'no-cycles': {
    file: 'config/planted-cycle.ts',
    text: "import { planted } from './planted-cycle-of-two.ts';\nexport const other = planted;",
  },
  'no-unresolvable': {
    file: 'config/planted-nothing.ts',
    text: "import nothing from 'no-such-package';\nexport const planted = nothing;",
  },
  'no-orphans': { file: 'adapters/system/planted-orphan.ts', text: 'export const planted = 1;' },
};

describe('the architecture', () => {
  let tree: string;
  let violations: readonly Violation[];

  // A copy of everything with the planted files beside it, so that the rules run once for both questions: it takes
  // seconds.
  beforeAll(async () => {
    tree = await mkdtemp(join(tmpdir(), 'architecture-'));
    for (const name of [...FOLDERS, 'docs', '.dependency-cruiser.mjs', 'tsconfig.json', 'package.json']) {
      const filter = (file: string) => !file.endsWith('/node_modules');
      await cp(join(ROOT, name), join(tree, name), { recursive: true, filter });
    }
    await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    for (const { file, text } of Object.values(PLANTED)) {
      await mkdir(dirname(join(tree, file)), { recursive: true });
      await writeFile(join(tree, file), `${text}\n`);
    }
    await writeFile(
      join(tree, 'config/planted-cycle-of-two.ts'),
      "export { other as planted } from './planted-cycle.ts';\n",
    );
    violations = await violationsIn(tree);
  });
  afterAll(() => rm(tree, { recursive: true }));

  it('has no violation', () => {
    expect(violations.filter(({ from }) => !from.includes('planted'))).toEqual([]);
  });

  it('is checked: a planted violation of each rule is found', () => {
    for (const [rule, { file }] of Object.entries(PLANTED)) {
      expect(violations).toContainEqual(
        expect.objectContaining({
          from: expect.stringContaining(file.slice(0, -'.ts'.length)),
          rule: expect.objectContaining({ name: rule }),
        }),
      );
    }
  });

  it('has a planted violation for every rule', async () => {
    const { default: configuration } = await import(join(ROOT, '.dependency-cruiser.mjs'));
    const rules = configuration.forbidden.map((rule: { name: string }) => rule.name);
    expect(Object.keys(PLANTED).toSorted()).toEqual(rules.toSorted());
  });
});
