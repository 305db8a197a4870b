import { describe, expect, it, test } from '@jest/globals';
import { readLocationsSettings } from '../../../config/programs/locations-settings.ts';
import { readRuleCheck } from '../../../config/programs/rule-check.ts';
import { failure, success } from '../../../domain/result.ts';
import { problemsIn } from '../../support/problems.ts';

describe('readLocationsSettings', () => {
  const REQUIRED = { JWKS_URI: 'https://auth.test/oauth2/jwks', TOKEN_ISSUER: 'https://auth.test' };

  function problemsOf(environment: Record<string, string>): readonly string[] {
    const settings = readLocationsSettings(environment);
    return problemsIn(settings);
  }

  it('reports every problem at once, with the name of the setting', () => {
    expect(problemsOf({ PORT: 'x', TOKEN_TYPO: 'x', JWKS_URL: 'x', LOCATION_ORDER: 'x' })).toEqual([
      'PORT: must be a whole number from 0 to 65535',
      'JWKS_URI: must be set',
      'TOKEN_ISSUER: must be set',
      'TOKEN_TYPO: is not a setting of this service',
      'JWKS_URL: is not a setting of this service: did you mean JWKS_URI?',
      'LOCATION_ORDER: is not a setting of this service',
    ]);
  });

  it.each(['auth.test', 'file:///keys', 'https://user:its-password@auth.test', 'https://auth.test#x', 'https://a b'])(
    'refuses the key set URL %s, without repeating it',
    (JWKS_URI) => {
      expect(problemsOf({ ...REQUIRED, JWKS_URI })).toEqual([
        'JWKS_URI: must be an http or https URL without user and fragment',
      ]);
    },
  );

  it.each(['http://127.0.0.1:8080/oauth2/jwks', 'https://auth.test/keys?tenant=1', 'https://auth.test'])(
    'accepts the key set URL %s',
    (JWKS_URI) => {
      expect(problemsOf({ ...REQUIRED, JWKS_URI })).toEqual([]);
    },
  );
});

describe('the check of rules for workloads', () => {
  const GITLAB = { issuer: 'https://gitlab.com', subject: 'project_path:a/b:ref', claims: {} };
  const OWN = { issuer: 'https://gitlab.example', subject: 'project_path:a/b:ref', claims: {} };
  const FILE = JSON.stringify([{ issuer: OWN.issuer, jwks_uri: 'https://gitlab.example/keys', preset: 'gitlab' }]);

  function check(environment: Readonly<Record<string, string>>, text?: string) {
    const read = readRuleCheck(environment, () => (text === undefined ? failure('cannot be read') : success(text)));
    if (!read.ok) throw new Error(read.problem);
    return read.value;
  }

  test('without a file of issuers, rules are checked by the names of the platforms', () => {
    expect(check({})(GITLAB)).toContain('/project_id');
    expect(check({})(OWN)).toBeUndefined();
  });

  test('with a file of issuers, rules are checked as the service checks them', () => {
    const withFile = check({ CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json' }, FILE);
    expect(withFile(OWN)).toContain('/project_id');
    expect(withFile(GITLAB)).toBe('issuer is not a trusted issuer');
  });

  test.each([undefined, '[]', '[{"issuer":"a"}]'])('a file that is missing or wrong is a problem: %s', (text) => {
    expect(() => check({ CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json' }, text)).toThrow(
      'CLIENT_ASSERTION_ISSUERS_FILE: ',
    );
  });
});
