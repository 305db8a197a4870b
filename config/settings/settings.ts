import { availableCores, memoryLimit, workersWithin } from '../../adapters/system/host-limits.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { AUTHENTICATION, SECRETS, STORAGE } from './client-settings.ts';
import { type Environment, readEnvironment, type SettingsGroup, type ValuesOf } from './read-environment.ts';
import { AUDIT, LISTENING, METADATA, PROCESSES } from './server-settings.ts';
import { KEYS, TOKENS } from './token-settings.ts';

/** An unknown name with one of these prefixes is a typo. */
const OWN_PREFIXES = ['TOKEN_', 'CLIENT_', 'KEY_', 'AUDIT_'];

/** The settings of the core, by the name of their table in docs/. Capabilities have groups of their own. */
export const CORE_GROUPS = {
  storage: STORAGE,
  authentication: AUTHENTICATION,
  secrets: SECRETS,
  tokens: TOKENS,
  keys: KEYS,
  listening: LISTENING,
  processes: PROCESSES,
  audit: AUDIT,
  metadata: METADATA,
} satisfies Readonly<Record<string, SettingsGroup>>;

/** Every setting of the core, by its name in the environment. */
export const CORE_ROWS = {
  ...STORAGE.rows,
  ...AUTHENTICATION.rows,
  ...SECRETS.rows,
  ...TOKENS.rows,
  ...KEYS.rows,
  ...LISTENING.rows,
  ...PROCESSES.rows,
  ...AUDIT.rows,
  ...METADATA.rows,
};

type Values = ValuesOf<typeof CORE_ROWS>;

/** The settings of a deployment, checked and frozen. Secrets do not print. Those of capabilities are there too; only these know their types. */
export type Settings = Readonly<Omit<Values, keyof Derived> & Derived>;

/** Settings whose default depends on something else. */
interface Derived {
  readonly WORKERS: number;
  readonly BASE_URL: string;
  readonly TOKEN_ISSUER: string;
}

/**
 * Reads the environment. Fails with every problem, by the name of its setting and never with a value.
 *
 * @param slices the settings of capabilities.
 */
export function readSettings(
  environment: Environment,
  slices: readonly SettingsGroup[],
): Result<Settings, readonly string[]> {
  const groups: readonly SettingsGroup[] = [...Object.values(CORE_GROUPS), ...slices];
  const rows: typeof CORE_ROWS = Object.assign({}, ...groups.map((group) => group.rows));
  const contradictions = Object.assign({}, ...groups.map((group) => group.contradictions));
  const read = readEnvironment({ rows, contradictions }, OWN_PREFIXES, environment);
  if (!read.ok) return read;

  const problems = groups.flatMap((group) => group.conflicts?.(read.value) ?? []);
  if (problems.length > 0) return failure(problems);
  // A key from a file has no successor.
  const values = read.value.KEY_FILE === undefined ? read.value : { ...read.value, KEY_ROTATION_SECONDS: 0 };
  const BASE_URL = values.BASE_URL ?? `http://localhost:${values.PORT}`;
  const WORKERS = values.WORKERS ?? Math.min(availableCores(), workersWithin(memoryLimit()));
  return success(Object.freeze({ ...values, WORKERS, BASE_URL, TOKEN_ISSUER: values.TOKEN_ISSUER ?? BASE_URL }));
}
