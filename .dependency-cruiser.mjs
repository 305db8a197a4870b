// Dependencies point inward. Each folder has a list of what it may import; what is not on the list is a violation.
// tests/faults/architecture.fault.ts shows that each rule finds a violation.

import { readdirSync } from 'node:fs';
import { basename } from 'node:path';

const PACKAGES = { path: '^node_modules/' };

/** The packages that each adapter may use. */
const PACKAGES_OF_ADAPTERS = {
  cli: 'commander',
  fetch: 'none',
  files: 'yaml|zod',
  http: 'koa|@koa/router|lru-cache',
  'http-client': 'zod',
  jwt: 'jose|lru-cache',
  log: 'none',
  memory: 'none',
  postgres: '@mikro-orm/[^/]+|kysely|pg',
  'prom-client': '@prometheus-io/client',
  secrets: 'bcrypt|lru-cache',
  sql: '@mikro-orm/[^/]+|kysely',
  sqlite: '@mikro-orm/sql|kysely',
  system: 'none',
  tls: 'none',
  tracing: '@opentelemetry/api',
};

/** What a setting or a command adds to the core, with a folder of its name in each layer that needs one. */
const FEATURES = readdirSync(new URL('config/features/', import.meta.url))
  .map((name) => basename(name, '.ts'))
  // Programs, and an entry point of the package.
  .concat('clients-program', 'keys-program', 'doctor', 'fetch');
const OF_A_FEATURE = `/(${FEATURES.join('|')})/`;

/** A rule that forbids the files of `folder` to import anything except the allowed paths. */
function onlyFrom(name, folder, allowed, instead) {
  return {
    name,
    severity: 'error',
    comment: instead,
    from: { path: folder },
    to: { pathNot: allowed },
  };
}

export default {
  forbidden: [
    onlyFrom(
      'domain-is-pure',
      '^domain/',
      ['^domain/'],
      'The domain imports only itself: pass the value in, or put the work behind a port.',
    ),
    onlyFrom(
      'application-knows-the-domain-and-its-ports',
      '^application/',
      ['^application/', '^domain/'],
      'Declare a port under application/ports and implement it in an adapter.',
    ),
    onlyFrom(
      'ports-are-types-on-the-domain',
      '^application/ports/',
      ['^application/ports/', '^domain/'],
      'A port uses only types of the domain: move the use case out of it.',
    ),
    {
      name: 'adapters-import-no-outer-folder',
      severity: 'error',
      comment: 'An adapter implements ports and is wired in config/: take what you need as an argument.',
      from: { path: '^adapters/' },
      to: { path: '^(config|tests|lab)/' },
    },
    {
      name: 'no-adapter-imports-another',
      severity: 'error',
      comment:
        'Two adapters meet only in config/, through a port. PostgreSQL and SQLite are two ways to run what adapters/sql builds.',
      from: { path: '^adapters/([^/]+)/', pathNot: '^adapters/(postgres|sqlite)/' },
      to: { path: '^adapters/', pathNot: '^adapters/$1/' },
    },
    {
      name: 'databases-know-only-their-statements',
      severity: 'error',
      comment: 'What both databases need is in adapters/sql.',
      from: { path: '^adapters/(postgres|sqlite)/' },
      to: { path: '^adapters/', pathNot: '^adapters/(sql|$1)/' },
    },
    {
      name: 'the-core-knows-no-feature',
      severity: 'error',
      comment: 'The core works without it: put the shared part into the core, or let the feature return what it adds.',
      from: { path: '^(domain|application|adapters)/', pathNot: OF_A_FEATURE },
      to: { path: OF_A_FEATURE },
    },
    {
      name: 'no-feature-imports-another',
      severity: 'error',
      comment: 'Each can be read alone: put the shared part into the core.',
      // The program of the keys is about the directory of the keys, and the API has the use cases of the program of the clients.
      from: { path: OF_A_FEATURE, pathNot: ['^(tests|lab)/', '/keys-program/', '^application/admin-api/'] },
      to: { path: OF_A_FEATURE, pathNot: '/$1/' },
    },
    ...Object.entries(PACKAGES_OF_ADAPTERS).map(([adapter, packages]) => ({
      name: `${adapter}-uses-its-own-packages`,
      severity: 'error',
      comment: `adapters/${adapter} may use only the packages of its allow-list: use a port, or the adapter that owns the package.`,
      from: { path: `^adapters/${adapter}/` },
      to: {
        path: '^node_modules/',
        pathNot: `^node_modules/(@types/node|(@types/)?(${packages}))/`,
        dependencyTypesNot: ['core'],
      },
    })),
    {
      name: 'adapters-are-listed',
      severity: 'error',
      comment: 'List the packages that the new adapter may use in PACKAGES_OF_ADAPTERS.',
      from: {
        path: '^adapters/',
        pathNot: `^adapters/(${Object.keys(PACKAGES_OF_ADAPTERS).join('|')})/`,
      },
      to: { path: '^node_modules/' },
    },
    {
      name: 'bcrypt-runs-within-its-bound',
      severity: 'error',
      comment:
        "It can take libuv's pool from everybody else: use the verifier or the encoder, with the bound of config/.",
      from: {
        path: '^(domain|application|adapters|config)/',
        pathNot: '^adapters/secrets/bcrypt-secret-verifier\\.ts$',
      },
      to: { path: '^node_modules/(@types/)?bcrypt/' },
    },
    {
      name: 'only-config-wires',
      severity: 'error',
      comment: 'Take dependencies as constructor arguments; config/build.ts passes them in.',
      from: { path: '^(domain|application|adapters)/' },
      to: { path: '^node_modules/(tsyringe|reflect-metadata)/' },
    },
    {
      name: 'production-imports-no-test',
      severity: 'error',
      comment: 'Code that production needs belongs in a production folder.',
      from: { pathNot: '^(tests|lab)/' },
      to: { path: '^(tests|lab)/' },
    },
    {
      name: 'only-faults-use-the-laboratory',
      severity: 'error',
      comment:
        'The packages of lab/ are not installed for npm test. The floods of its benchmark need none, and serve tests/faults too.',
      from: { path: '^tests/', pathNot: '^tests/faults/' },
      to: { path: '^lab/' },
    },
    {
      name: 'production-uses-production-packages',
      severity: 'error',
      comment: 'A development package is not installed in production: move it to dependencies, with a reason.',
      from: { path: '^(domain|application|adapters|config)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm', 'type-only'] },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Two files import each other: merge them, or move the shared part to a third file.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      comment: 'The import cannot be resolved: install the package or correct the path.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'Nothing uses this file: delete it.',
      from: { orphan: true, path: '^(domain|application|adapters)/' },
      to: {},
    },
  ],
  options: {
    doNotFollow: PACKAGES,
    // Their imports cannot be resolved here: the packages of lab/ are installed when it is used.
    exclude: {
      path: '^lab/(node_modules|interoperation|pact|bench/peers)/|^lab/mutation/(jest\\.config|relevant-tests-runner|stop-at-failure)',
    },
    preserveSymlinks: true,
    // Without this option, violations by `import type` would not be found.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
};
