import { describe, expect, it } from '@jest/globals';
import { readLocationsSettings } from '../../config/capabilities/example-resource/locations-settings.ts';

const REQUIRED = { JWKS_URI: 'https://auth.test/oauth2/jwks', TOKEN_ISSUER: 'https://auth.test' };

function problemsOf(environment: Record<string, string>): readonly string[] {
  const settings = readLocationsSettings(environment);
  return settings.ok ? [] : settings.problem;
}

describe('readLocationsSettings', () => {
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
