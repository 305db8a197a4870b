import { expect, it } from '@jest/globals';
import { SqliteClientStore } from '../../../../adapters/sqlite/clients-program/sqlite-client-store.ts';
import { NO_DETAILS } from '../../../../domain/client-details.ts';
import type { NewClient } from '../../../../domain/client-registration.ts';
import { A_CLIENT } from '../../../contracts/client-repository.ts';
import { A_FILE, describeClientStore } from '../../../contracts/client-store.ts';
import { generateSigningKey } from '../../../support/assertions.ts';
import { createSqliteFile } from '../../../support/sqlite-file.ts';

describeClientStore('SqliteClientStore', async (recorder) => {
  const file = await createSqliteFile();
  const stores: SqliteClientStore[] = [];
  const another = async () => {
    const store = new SqliteClientStore(file.path, recorder);
    stores.push(store);
    return store;
  };
  return {
    store: await another(),
    another,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await file.remove();
    },
  };
});

it('imports clients with their details, and replaces those of stored clients', async () => {
  await using file = await createSqliteFile();
  const store = new SqliteClientStore(file.path);
  const details = {
    secrets: [{ secret_id: 'an-id', name: 'of spring', encoded: A_CLIENT.clientSecret, expires_at: 2_000_000_000 }],
    keys: [{ jwk: generateSigningKey('EdDSA').jwk }],
    subjects: [{ issuer: 'https://issuer.example', subject: 'repo:a/b', claims: { '/a': 'é"' } }],
    resources: ['https://a.example', 'https://b.example'],
  };
  const importAll = async (...clients: readonly NewClient[]) => {
    const started = await store.startImport();
    await started.add(clients);
    await started.save(A_FILE, 'replace');
  };
  await importAll({ ...A_CLIENT, details }, { ...A_CLIENT, clientId: 'without' });
  expect((await store.find('client-1')).details).toMatchObject(details);
  expect((await store.find('without')).details).toEqual(NO_DETAILS);
  await importAll({ ...A_CLIENT, details: { ...NO_DETAILS, resources: ['https://b.example'] } });
  expect((await store.find('client-1')).details).toEqual({ ...NO_DETAILS, resources: ['https://b.example'] });
  await importAll(A_CLIENT);
  expect((await store.find('client-1')).details.resources).toEqual(['https://b.example']);
  await store.close();
});
