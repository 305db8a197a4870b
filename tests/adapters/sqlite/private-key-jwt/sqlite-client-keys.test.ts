import { afterEach, expect, it } from '@jest/globals';
import { sqliteClientKeys } from '../../../../adapters/sqlite/private-key-jwt/sqlite-client-keys.ts';
import { openClientRepository } from '../../../../adapters/sqlite/sqlite-client-repository.ts';
import { NO_DETAILS } from '../../../../domain/client-details.ts';
import { describeClientKeys } from '../../../contracts/client-keys.ts';
import { generateSigningKey } from '../../../support/assertions.ts';
import { REGISTERED_CLIENT } from '../../../support/registered-client.ts';
import { createSqliteFile, type SqliteFile } from '../../../support/sqlite-file.ts';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function openKeys(file: SqliteFile) {
  const lines: object[] = [];
  const { file: reader, dependency } = await openClientRepository(file.path, () => {});
  open.push(dependency.close, file.remove);
  return { keys: sqliteClientKeys(reader, (line) => lines.push(line)), lines };
}

describeClientKeys('sqliteClientKeys', async (clients) => {
  const file = await createSqliteFile();
  for (const client of clients) await file.add(client);
  return (await openKeys(file)).keys;
});

it('leaves out a key that was changed by hand and is none, and says so', async () => {
  const file = await createSqliteFile();
  const { keys, lines } = await openKeys(file);
  const { jwk } = generateSigningKey('ES256');
  await file.add({ ...REGISTERED_CLIENT, details: { ...NO_DETAILS, keys: [{ jwk }] } });
  for (const [id, text] of Object.entries({ a: '{', b: 'null', c: '{"kty":"oct","k":"x"}' })) {
    file.run(
      'insert into client_keys (registration_id, key_id, jwk, expires_at) values (1, ?, ?, 9223372036854775807)',
      id,
      text,
    );
  }
  expect((await keys.findKeys(REGISTERED_CLIENT.clientId)).keys).toEqual([{ jwk }]);
  expect(lines).toHaveLength(3);
});
