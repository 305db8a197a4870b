/** Code that is changed, and the tests that have to notice it. */
interface Area {
  /** Folders, or files. */
  readonly paths: readonly string[];
  /** What of it is left out. */
  readonly without?: readonly string[];
  /** Folders of tests, or test files without `.test.ts`, below `tests/`. */
  readonly tests: readonly string[];
  /** The share of changes that the tests have to notice, in percent. */
  readonly scoreMin: number;
}

const RULES = { tests: ['domain', 'application'], scoreMin: 90 };
/** They decide what a command changes, and are tested from the command line too, with a database. */
const PROGRAMS = ['application/clients-program', 'application/keys-program'];
const PROGRAM_TESTS = ['clients-apply', 'clients-moving', 'keys-program'].map((name) => `adapters/cli/${name}`);
/** What callers of the management API, of introspection and of revocation get is tested over HTTP. */
const BY_CALLERS = ['admin-api', 'introspect-token.ts', 'revoke-token.ts'].map((name) => `application/${name}`);
const CALLERS_TESTS = ['admin-api', 'introspection'].map((name) => `adapters/http/${name}`);
const HTTP_TESTS = [
  ...['connections', 'operator', 'parsing', 'token-endpoint'].map((name) => `adapters/http/${name}`),
  'hostile/hostile-requests-over-tls',
];

/** What decides whether the database can be used, as far as a test can find out without one. */
const DATABASE_HEALTH = {
  paths: ['fault', 'search-path', 'table-health'].map((name) => `adapters/postgres/${name}.ts`),
  tests: ['fault', 'fixed-search-path', 'table-health'].map((name) => `adapters/postgres/${name}`),
};

/** Each has its own run, since Stryker runs all tests of a run before the first change. */
const AREAS: readonly Area[] = [
  { paths: ['domain'], ...RULES },
  // CI compares the meanings of reasons with docs/reasons.md, which shows them.
  {
    paths: ['application'],
    without: ['application/refusal-meanings.ts', ...PROGRAMS, ...BY_CALLERS],
    tests: [...RULES.tests, 'adapters/memory'],
    scoreMin: 90,
  },
  { paths: BY_CALLERS, ...RULES, tests: [...RULES.tests, ...CALLERS_TESTS] },
  { paths: PROGRAMS, ...RULES, tests: [...RULES.tests, ...PROGRAM_TESTS] },
  { paths: ['adapters/secrets'], tests: ['adapters/secrets', 'adapters/memory', 'application/clients'], scoreMin: 85 },
  // Threads get the text of the loop, in which changes refer to what is not there.
  { paths: ['adapters/jwt'], without: ['adapters/jwt/sign-loop.ts'], tests: ['adapters/jwt'], scoreMin: 85 },
  { paths: ['adapters/http-client'], tests: ['adapters/http-client'], scoreMin: 85 },
  { paths: ['adapters/memory'], tests: ['adapters/memory'], scoreMin: 85 },
  { paths: ['adapters/files'], tests: ['adapters/files', 'adapters/http/admin-api'], scoreMin: 85 },
  { paths: ['adapters/http/parsing'], tests: HTTP_TESTS, scoreMin: 85 },
  { paths: ['adapters/http/admission'], tests: HTTP_TESTS, scoreMin: 85 },
  { ...DATABASE_HEALTH, scoreMin: 85 },
];

/**
 * The chosen folders and files by the area that they belong to; without any, all areas. Throws if one belongs to none.
 */
export function selectAreas(chosen: readonly string[]): readonly (Area & { readonly mutate: readonly string[] })[] {
  const paths = chosen.map((path) => path.replace(/\/$/, ''));
  const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);
  const all = AREAS.flatMap((area) => area.paths);
  const lost = paths.filter((path) => !all.some((known) => isWithin(path, known) || isWithin(known, path)));
  if (lost.length > 0) throw new Error(`${lost.join(', ')}: in none of ${all.join(', ')}`);
  return AREAS.flatMap((area) => {
    const mutate = area.paths.flatMap((known) => {
      const isWhole = paths.length === 0 || paths.some((path) => isWithin(known, path));
      return isWhole ? [known] : paths.filter((path) => isWithin(path, known));
    });
    const without = area.without ?? [];
    const left = mutate.filter((path) => !without.some((other) => isWithin(path, other)));
    const patterns = [...left.map(patternOf), ...without.map((path) => `!${patternOf(path)}`)];
    return left.length > 0 ? [{ ...area, mutate: patterns }] : [];
  });
}

function patternOf(path: string): string {
  return path.endsWith('.ts') ? path : `${path}/**/*.ts`;
}
