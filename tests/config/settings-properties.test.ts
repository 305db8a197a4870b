import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readKeyFile } from '../../adapters/jwt/read-key-file.ts';
import { readLocationsSettings } from '../../config/capabilities/example-resource/locations-settings.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { success } from '../../domain/result.ts';
import { readSettings, SETTING_NAMES } from '../support/all-settings.ts';

/** In every value, so that a problem that quotes a value is found. */
const CANARY = 'canary-7f3a';

const name = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...SETTING_NAMES) },
  fc.constantFrom('TOKEN_TYPO', 'CLIENT_', 'KEY_FILES', '__proto__', 'constructor', 'PATH'),
  fc.string({ unit: fc.constantFrom(...'ABCKEYTOKN_'), maxLength: 12 }),
);
const good = fc.constantFrom('memory', 'postgres', 'true', 'false', '0', '1', '300', 'default', 'rfc9068', 'declared');
const url = fc.constantFrom(
  'http://localhost:1',
  'postgresql://u:p@h/d',
  'https://a.test/b',
  'http://[',
  'postgres://',
);
const odd = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('', ' ', '-1', '1e3', '0x10', '01', '99999999999999999999', '１', 'TRUE', '\ud800', '\0'),
);
const quoted = fc.oneof(odd, url, good).map((value) => `${value}${CANARY}`);
const environment = fc
  .array(fc.tuple(name, fc.oneof(good, url, odd, quoted)), { maxLength: 12 })
  .map((entries) => Object.fromEntries(entries));

/** Each begins with the name of a setting, or of a variable that is given, and quotes no value. */
function expectProblems(problems: readonly string[], given: Readonly<Record<string, string>>): void {
  expect(problems.length).toBeGreaterThan(0);
  for (const problem of problems) {
    const [setting = ''] = problem.split(':');
    expect([...SETTING_NAMES, ...Object.keys(given)]).toContain(setting);
    expect(problem).not.toContain(CANARY);
  }
}

describe('the settings, for every environment', () => {
  it.each([
    ['readSettings', readSettings],
    ['readLocationsSettings', readLocationsSettings],
  ])('%s never throws, and each problem names its setting and no value', (_name, readAll) => {
    fc.assert(
      fc.property(environment, (given) => {
        const settings = readAll(given);
        if (!settings.ok) expectProblems(settings.problem, given);
      }),
      { numRuns: 500 },
    );
  });

  it('report the same problems for the same environment in any order', () => {
    fc.assert(
      fc.property(environment, (given) => {
        const reversed = Object.fromEntries(Object.entries(given).toReversed());
        const [one, other] = [readSettings(given), readSettings(reversed)];
        expect(one.ok ? [] : [...one.problem].sort()).toEqual(other.ok ? [] : [...other.problem].sort());
      }),
    );
  });

  it('never print the password of a database', () => {
    const password = fc.string({ unit: fc.constantFrom(...'abc019-_~%4'), maxLength: 10 }).map((text) => text + CANARY);
    fc.assert(
      fc.property(password, (secret) => {
        const url = `postgresql://service:${encodeURIComponent(secret)}@db.test/auth`;
        const settings = readSettings({ CLIENT_REPOSITORY: 'postgres', DATABASE_URL: url });
        expect(settings.ok).toBe(true);
        expect(inspect(settings, { depth: 9, showHidden: true }) + JSON.stringify(settings)).not.toContain(CANARY);
      }),
    );
  });

  it('come with files of any text: loadConfiguration never throws, and quotes neither a setting nor a file', () => {
    const given = fc.record({ settings: environment, text: fc.oneof(fc.json(), fc.string({ unit: 'binary' })) });
    fc.assert(
      fc.property(given, ({ settings, text }) => {
        const all = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'c', KEY_FILE: 'k', ...settings };
        const configuration = loadConfiguration(all, () => success(`${text}${CANARY}`));
        expect(readKeyFile(text, 'RS256').ok || configuration.ok).toBe(false);
        if (!configuration.ok) expectProblems(configuration.problem, all);
      }),
      { numRuns: 300 },
    );
  });
});
