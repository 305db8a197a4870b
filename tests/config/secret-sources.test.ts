import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { secretSources } from '../../config/settings/secret-sources.ts';
import { failure, success } from '../../domain/result.ts';

describe('secrets that a clients file refers to', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secret-sources-'));
  const [allowed, other] = ['allowed', 'other'].map((name) => join(folder, name)) as [string, string];
  for (const path of [allowed, other]) {
    mkdirSync(path);
    writeFileSync(join(path, 'billing'), 'its-secret');
  }
  symlinkSync(join(other, 'billing'), join(allowed, 'link'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const environment = { BILLING: 'its-secret', EMPTY: '' };

  it('come from files and variables', () => {
    const read = secretSources(environment, readTextFile);
    expect(read({ file: join(allowed, 'billing') })).toEqual(success('its-secret'));
    expect(read({ env: 'BILLING' })).toEqual(success('its-secret'));
  });

  it.each(['EMPTY', 'NOWHERE'])('are missing if the variable is not set: %s', (env) => {
    const problem = `refers to variable ${env}, which is not set: set it in the environment`;
    expect(secretSources(environment, readTextFile)({ env })).toEqual(failure(problem));
  });

  it('are those of the clients of a service', () => {
    const file = join(folder, 'clients.json');
    const client = { client_id: 'billing', client_name: 'Billing', scope: 'read' };
    const settings = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: file, BILLING: 'its-secret' };
    const load = (client_secret: object) => {
      writeFileSync(file, JSON.stringify([{ ...client, client_secret }]));
      return loadConfiguration(settings, readTextFile);
    };
    expect(load({ env: 'BILLING' })).toMatchObject({
      ok: true,
      value: { clients: [{ clientSecret: '{noop}its-secret' }] },
    });
    const text =
      'entry 0: client billing: client_secret refers to variable NOWHERE, which is not set: set it in the environment';
    expect(load({ env: 'NOWHERE' })).toMatchObject({
      ok: false,
      problem: [{ code: 'CLIENTS_FILE', text: expect.stringContaining(text) }],
    });
  });

  it('are not quoted if they stand in place of a name', () => {
    for (const reference of [{ env: 'its-secret' }, { file: 'its-secret' }]) {
      const read = secretSources(environment, readTextFile)(reference);
      expect(read).toMatchObject({ ok: false });
      expect(JSON.stringify(read)).not.toContain('its-secret');
    }
  });

  it('come only from what is allowed, also through links', () => {
    const read = secretSources(environment, readTextFile, { folders: [allowed], variables: ['EMPTY'] });
    expect(read({ file: join(allowed, 'billing') })).toEqual(success('its-secret'));
    const refused = failure('refers to a file in a folder that --allow-files does not name');
    for (const file of [join(other, 'billing'), join(allowed, '../other/billing'), join(allowed, 'link'), allowed]) {
      expect(read({ file })).toEqual(refused);
    }
    const some = secretSources(environment, readTextFile, { folders: [], variables: ['BILL*'] });
    expect(some({ env: 'BILLING' })).toEqual(success('its-secret'));
    expect(some({ env: 'OTHER_BILLING' })).toMatchObject({ ok: false });
    expect(some({ file: join(allowed, 'billing') })).toEqual(refused);
    expect(read({ env: 'BILLING' })).toEqual(failure('refers to variable BILLING, which --allow-env does not name'));
  });
});
