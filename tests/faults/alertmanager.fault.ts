import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { readAlertRules } from '../support/alert-rules.ts';
import { isInstalled } from '../support/installed.ts';

const FILE = 'deploy/alertmanager.yml';
const ALERTS = readAlertRules().map(({ alert }) => alert);

/** The names that a matcher of an alert's name selects, among all alerts. */
function selectedBy(matchers: string): readonly string[] {
  return [...matchers.matchAll(/alertname (=~|!=|=) "?([^",\]]+)"?/g)].reduce<readonly string[]>(
    (names, [, operator, text = '']) => {
      const matches = new RegExp(`^(?:${text})$`);
      return names.filter((name) => matches.test(name) === (operator !== '!='));
    },
    ALERTS,
  );
}

const RULES = [
  ...readFileSync(FILE, 'utf8').matchAll(/source_matchers: (.*)\n +target_matchers: (.*)\n +equal: (.*)/g),
];

describe('deploy/alertmanager.yml', () => {
  it('names only alerts that exist, and silences none by itself', () => {
    expect(RULES.length).toBe(5);
    for (const [, source = '', target = ''] of RULES) {
      const [sources, targets] = [selectedBy(source), selectedBy(target)];
      expect(sources).toHaveLength(1);
      expect(targets.length).toBeGreaterThan(0);
      expect(targets).not.toContain(sources[0]);
      for (const [name] of target.matchAll(/Auth\w+/g)) expect(ALERTS).toContain(name);
    }
  });

  it('never silences that audit events or log lines are lost by what callers see', () => {
    for (const [, source = '', target = ''] of RULES)
      if (!source.includes('AuthDown')) expect(selectedBy(target).join()).not.toContain('LinesLost');
  });

  if (!isInstalled('amtool')) return;

  it('is accepted by amtool', () => {
    expect(execFileSync('amtool', ['check-config', FILE], { encoding: 'utf8' })).toContain(
      `${RULES.length} inhibit rules`,
    );
  });
});
