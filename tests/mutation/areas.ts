/** Code that is changed, and the tests that have to notice it. */
export interface Area {
  /** A folder, or one file. */
  readonly path: string;
  /** Folders of tests, or test files without `.test.ts`, below `tests/`. None of them needs a database. */
  readonly tests: readonly string[];
  /** The share of changes that the tests have to notice, in percent. */
  readonly scoreMin: number;
}

const RULES = { tests: ['domain', 'application'], scoreMin: 90 };
const HTTP_TESTS = [
  'client-address',
  'client-secret-basic',
  'form',
  'http-parser',
  'load-limit',
  'operator-access',
  'pipelined-requests',
  'rejection-delay',
  'require-bearer',
  'token-endpoint',
].map((name) => `adapters/http/${name}`);

/** What decides whether the database can be used, as far as a test can find out without one. */
const DATABASE_HEALTH = ['fault', 'health', 'search-path', 'table-health', 'table-slots'].map((name) => ({
  path: `adapters/postgres/${name}.ts`,
  tests: ['database-health', 'fault', 'qualified-statements', 'table-health', 'table-slots'].map(
    (test) => `adapters/postgres/${test}`,
  ),
  scoreMin: 85,
}));

/** Each has a run of its own, since Stryker runs all tests of a run before the first change. */
export const AREAS: readonly Area[] = [
  { path: 'domain', ...RULES },
  { path: 'application', ...RULES },
  { path: 'adapters/secrets', tests: ['adapters/secrets'], scoreMin: 85 },
  { path: 'adapters/jwt', tests: ['adapters/jwt'], scoreMin: 85 },
  { path: 'adapters/jwks-client', tests: ['adapters/jwks-client'], scoreMin: 85 },
  { path: 'adapters/memory', tests: ['adapters/memory'], scoreMin: 85 },
  { path: 'adapters/files', tests: ['adapters/files'], scoreMin: 85 },
  { path: 'adapters/http/parsing', tests: HTTP_TESTS, scoreMin: 85 },
  { path: 'adapters/http/admission', tests: HTTP_TESTS, scoreMin: 85 },
  ...DATABASE_HEALTH,
];

/** The chosen folders and files by the area that they belong to; without any, all areas. Throws if one belongs to none. */
export function selectAreas(chosen: readonly string[]): readonly (Area & { readonly mutate: readonly string[] })[] {
  const paths = chosen.map((path) => path.replace(/\/$/, ''));
  const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);
  const lost = paths.filter((path) => !AREAS.some((area) => isWithin(path, area.path) || isWithin(area.path, path)));
  if (lost.length > 0) throw new Error(`${lost.join(', ')}: in none of ${AREAS.map(({ path }) => path).join(', ')}`);
  return AREAS.flatMap((area) => {
    const within = paths.filter((path) => isWithin(path, area.path));
    const isWhole = paths.length === 0 || paths.some((path) => isWithin(area.path, path));
    const mutate = isWhole ? [area.path] : within;
    return mutate.length > 0 ? [{ ...area, mutate: mutate.map(patternOf) }] : [];
  });
}

function patternOf(path: string): string {
  return path.endsWith('.ts') ? path : `${path}/**/*.ts`;
}
