import { describe, expect, it } from '@jest/globals';
import { loadConfiguration } from '../../config/settings/configuration.ts';

const MEMORY = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };

describe('loadConfiguration', () => {
  it('reads the clients of the file that CLIENTS_FILE names', () => {
    const asked: string[] = [];
    const configuration = loadConfiguration(MEMORY, (path) => {
      asked.push(path);
      return '[]';
    });
    expect(asked).toEqual(['clients.json']);
    expect(configuration).toMatchObject({ ok: true, value: { clients: [] } });
  });

  it('reports that the file cannot be read', () => {
    expect(loadConfiguration(MEMORY, () => undefined)).toEqual({
      ok: false,
      problem: ['CLIENTS_FILE: cannot be read'],
    });
  });

  it('reports the problems of the settings and of the file together', () => {
    expect(loadConfiguration({ ...MEMORY, PORT: 'x' }, () => '{}')).toEqual({
      ok: false,
      problem: ['PORT: must be a whole number from 0 to 65535', 'CLIENTS_FILE: must be a JSON array'],
    });
  });
});
