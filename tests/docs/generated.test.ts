import { describe, expect, it } from '@jest/globals';
import { SETTING_GROUPS } from '../support/all-settings.ts';
import { generatedFiles } from '../support/generated-docs.ts';

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
});
