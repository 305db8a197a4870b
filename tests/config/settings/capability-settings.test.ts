import { describe, expect, test } from '@jest/globals';
import { readRuleCheck } from '../../../config/programs/rule-check.ts';
import { failure, success } from '../../../domain/result.ts';

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
