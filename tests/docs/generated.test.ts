import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { SETTING_GROUPS } from '../support/all-settings.ts';
import { generatedFiles, withGeneratedParts } from '../support/generated-docs.ts';

describe('npm run docs', () => {
  it.each(generatedFiles())('leaves $file as it is', ({ current, generated }) => {
    expect(current).toBe(generated);
  });

  it('has a table for each group of settings, and says what each setting means', () => {
    const text = generatedFiles()
      .map(({ current }) => current)
      .join('\n');
    for (const [group, { rows }] of Object.entries(SETTING_GROUPS)) {
      expect(text).toMatch(new RegExp(`<!-- npm run docs: settings of (.*, )?${group}(, .*)? -->`));
      for (const name of Object.keys(rows))
        expect(text).toMatch(new RegExp(`^\\| \`${name}\` \\| .+ \\| .{8,} \\|$`, 'm'));
    }
  });

  it('corrects a page that says something else than the code', () => {
    const page = readFileSync('docs/settings.md', 'utf8');
    expect(withGeneratedParts(page.replace('(1 to 86400)', '(1 to 86401)'))).toBe(page);
    expect(page).toContain('(1 to 86400)');
  });

  it.each(['<!-- npm run docs: absent -->\n<!-- end -->', '<!-- npm run docs: reasons -->\n'])('refuses %j', (page) => {
    expect(() => withGeneratedParts(page)).toThrow('nothing generates');
  });
});
