import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { secretSources, secretTargets } from '../../config/settings/secret-sources.ts';
import { failure, success } from '../../domain/result.ts';

describe('secrets that a clients file refers to', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secret-sources-'));
  const [allowed, other] = ['allowed', 'other'].map((name) => join(folder, name)) as [string, string];
  for (const path of [allowed, other]) {
    mkdirSync(path);
    writeFileSync(join(path, 'billing'), 'its-secret');
  }
  mkdirSync(join(other, 'sub'));
  symlinkSync(join(other, 'billing'), join(allowed, 'link'));
  symlinkSync(join(other, 'sub'), join(allowed, 'way'));
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

  it.each(['constructor', '__proto__'])('are no variables of every object: %s', (env) => {
    expect(secretSources(environment, readTextFile)({ env })).toEqual(
      failure('refers to a variable, which is not set: set it in the environment'),
    );
  });

  it('are in regular files of moderate size', () => {
    const read = secretSources(environment, readTextFile);
    expect(read({ file: '/dev/zero' })).toEqual(failure('refers to something that is no regular file'));
    writeFileSync(join(folder, 'long'), 'x'.repeat(4_097));
    expect(read({ file: join(folder, 'long') })).toEqual(failure('refers to a file of more than 4096 bytes'));
  });

  it('are generated only where it is allowed', () => {
    const problem = 'generates a file in a folder that --allow-files does not name';
    const targets = secretTargets({ folders: [allowed], variables: [] });
    expect(targets(join(allowed, 'new'))).toBeUndefined();
    expect([join(other, 'new'), join(allowed, 'way/new')].map(targets)).toEqual([problem, problem]);
    expect(secretTargets({ folders: [], variables: ['A'] })(join(allowed, 'new'))).toBe(problem);
    expect(secretTargets(undefined)(join(other, 'new'))).toBeUndefined();
  });

  it('are in no path with .. behind a link, or with a NUL, neither to read nor to generate', () => {
    const refusal = 'a path with .. or NUL: write it without them';
    for (const allowedSources of [{ folders: [allowed], variables: [] }, undefined]) {
      for (const file of [`${allowed}/way/../billing`, `${allowed}/way/../new`, '../billing', `${allowed}/bill\0ing`]) {
        expect(secretSources(environment, readTextFile, allowedSources)({ file })).toEqual(
          failure(`refers to ${refusal}`),
        );
        expect(secretTargets(allowedSources)(file)).toBe(`generates ${refusal}`);
      }
    }
    expect(secretSources(environment, readTextFile)({ file: `${allowed}/..billing` })).toEqual({
      ok: false,
      problem: expect.stringContaining('there is no file'),
    });
  });

  it('come only from what is allowed, also through links', () => {
    const read = secretSources(environment, readTextFile, { folders: [allowed], variables: ['EMPTY'] });
    expect(read({ file: join(allowed, 'billing') })).toEqual(success('its-secret'));
    const refused = failure('refers to a file in a folder that --allow-files does not name');
    expect(read({ file: join(allowed, 'absent') })).toEqual({
      ok: false,
      problem: expect.stringContaining('there is no file'),
    });
    for (const file of [join(other, 'absent'), join(other, 'billing'), join(allowed, 'link'), allowed]) {
      expect(read({ file })).toEqual(refused);
    }
    const some = secretSources(environment, readTextFile, { folders: [], variables: ['BILL*'] });
    expect(some({ env: 'BILLING' })).toEqual(success('its-secret'));
    expect(some({ env: 'OTHER_BILLING' })).toMatchObject({ ok: false });
    expect(some({ file: join(allowed, 'billing') })).toEqual(refused);
    expect(read({ env: 'BILLING' })).toEqual(failure('refers to variable BILLING, which --allow-env does not name'));
  });
});
