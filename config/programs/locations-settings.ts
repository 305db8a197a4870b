import type { ServerPage } from '../../adapters/cli/server-arguments.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import type { Problem } from '../../domain/problem.ts';
import type { Result } from '../../domain/result.ts';
import { helpRows } from '../settings/about-setting.ts';
import { FEATURE_GROUPS } from '../settings/feature-settings.ts';
import { type Environment, readEnvironment, settingsGroup, type ValuesOf } from '../settings/read-environment.ts';
import { httpUrl, text, wholeNumber } from '../settings/setting-kinds.ts';
import { CORE_GROUPS } from '../settings/settings.ts';

/** An unknown setting with one of these prefixes is a typo, and so a problem. */
const OWN_PREFIXES = ['TOKEN_', 'JWKS_', 'LOCATION_'];

/** Every setting of the example as a server of its own. */
// biome-ignore format: one line for each setting, so that checks, defaults and texts stand below each other
export const LOCATIONS_SETTINGS = settingsGroup({
  rows: {
    HOST: CORE_GROUPS.listening.rows.HOST,
    PORT: wholeNumber(0, 65_535).default(8082).describe('port to listen on. `0` is any free port'),
    SHUTDOWN_DRAIN_MS: CORE_GROUPS.shutdown.rows.SHUTDOWN_DRAIN_MS,
    JWKS_URI: httpUrl().describe("http or https URL of the issuer's key set, such as `http://127.0.0.1:8080/oauth2/jwks`. Use https on a network that others can reach: anyone who can change the answer can sign tokens"),
    JWKS_TIMEOUT_MS: wholeNumber(100, 30_000).default(2_000).describe('milliseconds that a request waits for the key set before it is answered 503'),
    JWKS_COOLDOWN_SECONDS: wholeNumber(1, 300).default(5).describe("minimum number of seconds between two fetches. Less than the issuer's `KEY_PUBLICATION_SECONDS`, so that a new key is found before it signs"),
    JWKS_STALE_SECONDS: wholeNumber(0, 2_592_000).default(86_400).describe('seconds that keys stay trusted beyond their `max-age` while the issuer is unavailable'),
    TOKEN_ISSUER: text().describe('claim `iss` that a token must have, compared exactly'),
    TOKEN_AUDIENCE: text().optional().describe('claim `aud` that a token must have; without this setting it is not checked'),
    TOKEN_LEEWAY_SECONDS: wholeNumber(0, 300).default(5).describe("seconds by which the issuer's clock may differ from the local one"),
    LOCATION_FIELD_ORDER: FEATURE_GROUPS['example-resource'].rows.LOCATION_FIELD_ORDER,
  },
});

export type LocationsSettings = ValuesOf<typeof LOCATIONS_SETTINGS.rows>;

/** Reads the environment. A failure lists every problem, with the name of the setting and never its value. */
export function readLocationsSettings(environment: Environment): Result<LocationsSettings, readonly Problem[]> {
  return readEnvironment(LOCATIONS_SETTINGS, OWN_PREFIXES, environment);
}

const { JWKS_URI, TOKEN_ISSUER, TOKEN_AUDIENCE, HOST, PORT } = LOCATIONS_SETTINGS.rows;

export const LOCATIONS_PAGE: ServerPage = {
  name: 'The resource server',
  command: 'npm run locations',
  description: 'The example resource server: answers requests with a valid access token of the authorization service.',
  settings: helpRows({ JWKS_URI, TOKEN_ISSUER, TOKEN_AUDIENCE, HOST, PORT }),
  notes: 'docs/resource-servers.md explains these and all others.',
  fix: 'docs/resource-servers.md explains the settings.',
  version: programVersion(),
};
