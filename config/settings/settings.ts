import type { z } from 'zod';
import type { Problem } from '../../domain/problem.ts';
import { type Result, success } from '../../domain/result.ts';
import { effectiveSettings } from './effective-settings.ts';
import { FEATURE_GROUPS } from './feature-settings.ts';
import { KEYS_IN_MEMORY, keys } from './key-settings.ts';
import { audit, listening, shutdown } from './listening-settings.ts';
import { withHostOfPlatform } from './platform.ts';
import { type Environment, readEnvironment, type SettingsGroup, type ValuesOf } from './read-environment.ts';
import { brokenBy } from './rules.ts';
import { storage } from './storage-settings.ts';
import { authentication, metadata, profile, secrets, tokens } from './token-settings.ts';

export { KEYS_IN_MEMORY };

/** An unknown name with one of these prefixes is a typo. */
export const OWN_PREFIXES = ['TOKEN_', 'CLIENT_', 'KEY_', 'AUDIT_', 'SERVICE_'];

/** The settings of the core, by the name of their table in docs/. */
export const CORE_GROUPS = {
  profile,
  storage,
  authentication,
  secrets,
  tokens,
  keys,
  listening,
  shutdown,
  audit,
  metadata,
};

/** All settings of the service. */
export const SETTINGS_GROUPS = { ...CORE_GROUPS, ...FEATURE_GROUPS };

const GROUPS: readonly SettingsGroup[] = Object.values(SETTINGS_GROUPS);

/** The settings with a file that only its owner may be able to write to. */
export const OWNERS_FILES = GROUPS.flatMap(({ ownersFiles = [] }) => ownersFiles);

type Groups = typeof SETTINGS_GROUPS;

/** The rows of all groups together. */
type Rows = { [Name in keyof Groups]: (rows: Groups[Name]['rows']) => void }[keyof Groups] extends (
  rows: infer All extends z.ZodRawShape,
) => void
  ? All
  : never;

/** Every setting, with the rules of all groups. */
export const ALL_SETTINGS: SettingsGroup<Rows> = {
  rows: Object.assign({}, ...GROUPS.map(({ rows }) => rows)),
  rules: (given, values) => GROUPS.flatMap(({ rules }) => rules?.(given, values) ?? []),
};

/** The settings of a deployment, checked and frozen. Secrets do not print. */
export type Settings = Readonly<Omit<ValuesOf<Rows>, keyof Derived> & Derived>;

/** Settings whose default depends on something else. */
interface Derived {
  readonly BASE_URL: string;
  readonly TOKEN_ISSUER: string;
}

/** Reads the environment. Fails with every problem, by the name of its setting and never with a value. */
export function readSettings(environment: Environment): Result<Settings, readonly Problem[]> {
  const read = readEnvironment(ALL_SETTINGS, OWN_PREFIXES, withHostOfPlatform(environment));
  if (!read.ok) return read;
  // A key from a file has no successor.
  const values = read.value.KEY_FILE === undefined ? read.value : { ...read.value, KEY_ROTATION_SECONDS: 0 };
  const BASE_URL = values.BASE_URL ?? `http://localhost:${values.PORT}`;
  return success(Object.freeze({ ...values, BASE_URL, TOKEN_ISSUER: values.TOKEN_ISSUER ?? BASE_URL }));
}

/** What is probably a mistake in settings with which the service starts. */
export function settingWarnings(environment: Environment): readonly Problem[] {
  return brokenBy('warning', ALL_SETTINGS.rules?.(effectiveSettings(environment, ALL_SETTINGS.rows), undefined) ?? []);
}
