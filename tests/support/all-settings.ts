import { LOCATIONS_SETTINGS } from '../../config/capabilities/example-resource/locations-settings.ts';
import { CAPABILITIES } from '../../config/capabilities.ts';
import { SLICES } from '../../config/settings/load-configuration.ts';
import type { Environment, SettingsGroup } from '../../config/settings/read-environment.ts';
import { CORE_GROUPS, readSettings as readWithSlices } from '../../config/settings/settings.ts';

/** The settings of all programs, by the name of a group of the core or of the capability that they belong to. */
export const SETTING_GROUPS: Readonly<Record<string, SettingsGroup>> = {
  ...CORE_GROUPS,
  ...Object.fromEntries(CAPABILITIES.flatMap(({ name, settings }) => (settings ? [[name, settings]] : []))),
  locations: LOCATIONS_SETTINGS,
};

export const SETTING_NAMES = Object.values(SETTING_GROUPS).flatMap(({ rows }) => Object.keys(rows));

/** The settings of the service, with those of its capabilities. */
export function readSettings(environment: Environment) {
  return readWithSlices(environment, SLICES);
}
