import { z } from 'zod';
import type { Result } from '../../../domain/result.ts';
import { type Environment, readEnvironment } from '../../settings/read-environment.ts';
import { httpUrl, oneOf, text, wholeNumber } from '../../settings/setting-kinds.ts';

/** An unknown setting with one of these prefixes is a typo, and so a problem. */
const OWN_PREFIXES = ['TOKEN_', 'JWKS_', 'LOCATION_'];

/** Every setting of the resource server, by its name in the environment. A test compares it with the table in docs/resource-servers.md. */
export const LOCATIONS_SETTINGS_SCHEMA = z.object({
  HOST: text().default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(8082),
  SHUTDOWN_DRAIN_MS: wholeNumber(0, 300_000).default(10_000),
  JWKS_URI: httpUrl(),
  JWKS_TIMEOUT_MS: wholeNumber(100, 30_000).default(2_000),
  JWKS_COOLDOWN_SECONDS: wholeNumber(1, 300).default(5),
  JWKS_STALE_SECONDS: wholeNumber(0, 2_592_000).default(86_400),
  TOKEN_ISSUER: text(),
  TOKEN_AUDIENCE: text().optional(),
  TOKEN_LEEWAY_SECONDS: wholeNumber(0, 300).default(5),
  LOCATION_FIELD_ORDER: oneOf('declared', 'alphabetical').default('declared'),
});

export type LocationsSettings = Readonly<z.output<typeof LOCATIONS_SETTINGS_SCHEMA>>;

/** Reads the environment. A failure lists every problem, with the name of the setting and never its value. */
export function readLocationsSettings(environment: Environment): Result<LocationsSettings, readonly string[]> {
  return readEnvironment(LOCATIONS_SETTINGS_SCHEMA, OWN_PREFIXES, environment);
}
