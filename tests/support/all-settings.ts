import type { SettingsGroup } from '../../config/settings/read-environment.ts';
import { SETTINGS_GROUPS } from '../../config/settings/settings.ts';

/** The settings of all programs, by the name of a group of the core or of the feature that they belong to. */
export const SETTING_GROUPS: Readonly<Record<string, SettingsGroup>> = {
  ...SETTINGS_GROUPS,
};

export const SETTING_NAMES = Object.values(SETTING_GROUPS).flatMap(({ rows }) => Object.keys(rows));
