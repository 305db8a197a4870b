import { describe, expect, it } from '@jest/globals';
import { settingDoubts } from '../../config/settings/setting-doubts.ts';
import { readSettings, SETTING_NAMES } from '../support/all-settings.ts';

const MEMORY = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };
const RUN_REPLICAS = 'since the service is one process: leave it out, and run replicas (docs/scaling.md)';

describe('a setting of an earlier version', () => {
  it.each(['2', '0', 'four'])('is refused with what replaces it, beside all other problems: WORKERS=%s', (WORKERS) => {
    expect(SETTING_NAMES).not.toContain('WORKERS');
    expect(readSettings({ ...MEMORY, WORKERS, PORT: 'x' })).toEqual({
      ok: false,
      problem: [expect.stringMatching(/^PORT: /), `WORKERS: is not a setting any more, ${RUN_REPLICAS}`],
    });
    expect(readSettings({ ...MEMORY, WORKERS })).toMatchObject({ problem: [expect.stringMatching(/^WORKERS: /)] });
  });

  it('only causes a warning with a value that means what happens anyway: WORKERS=1', () => {
    const environment = { ...MEMORY, WORKERS: '1' };
    expect(readSettings(environment)).toMatchObject({ ok: true });
    expect(settingDoubts(environment)).toEqual([`WORKERS: has no effect any more, ${RUN_REPLICAS}`]);
  });

  it('is absent if it is empty', () => {
    const environment = { ...MEMORY, WORKERS: '' };
    expect(readSettings(environment)).toMatchObject({ ok: true });
    expect(settingDoubts(environment)).toEqual([]);
  });
});
