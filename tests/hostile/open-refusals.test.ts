import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { ASSERTION_MISTAKES, assertionForm, KEY, PLATFORM, PLATFORM_KEY } from '../support/assertion-mistakes.ts';
import { clientsTable } from '../support/clients-table.ts';
import { type FormFields, requestToken } from '../support/http.ts';
import { expectRefusedAssertion, OPENLY_REFUSED } from '../support/openly-refused.ts';
import { RecordingProxy } from '../support/recording-proxy.ts';
import { REGISTERED_CLIENT } from '../support/registered-client.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';

const KNOWN = 'known-client';
const UNKNOWN = 'other-client';

let database: TestDatabase;
let proxy: RecordingProxy;
let service: ServiceUnderTest;

beforeAll(async () => {
  database = await createTestDatabase();
  await migrateDatabase(database.url);
  proxy = await RecordingProxy.to(database.url);
  service = await startServiceUnderTest({
    environment: {
      CLIENT_REPOSITORY: 'postgres',
      CLIENTS_FILE: '',
      DATABASE_URL: proxy.through(database.url),
      ...PATIENT,
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt,federated_jwt',
      CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
    },
    files: { 'issuers.json': JSON.stringify([{ issuer: PLATFORM, jwks: { keys: [PLATFORM_KEY.jwk()] } }]) },
  });
  await clientsTable(database).add({ ...REGISTERED_CLIENT, clientId: KNOWN });
  await database.query(
    `insert into client_keys (client_id, registration_id, key_id, jwk)
      select client_id, id::text, 'k', $1 from clients where client_id = '${KNOWN}'`,
    [JSON.stringify(KEY.jwk)],
  );
}, 120_000);
afterAll(async () => {
  await service.stop();
  await proxy[Symbol.asyncDispose]();
  await database.drop();
});

/** The parameters of statements about a client. Checks of health, counts and cleaning have none, and run at times of their own. */
function lookUpsSince(before: number): readonly string[] {
  return proxy.parameters.slice(before).filter((text) => text.includes('-client'));
}

/** Status, headers and body, without what is of one request alone. */
async function ask(form: FormFields) {
  const { status, headers, text, json } = await requestToken(service.url, form);
  const { date: _date, 'x-request-id': _id, ...others } = headers;
  return { status, headers: others, text, json };
}

describe('an assertion that is refused for what it shows itself', () => {
  it('would get a token without its mistake, after look-ups', async () => {
    const before = proxy.parameters.length;
    expect((await ask(assertionForm('client', KNOWN, {}))).status).toBe(200);
    expect(lookUpsSince(before)).not.toEqual([]);
  });

  it.each(ASSERTION_MISTAKES)(
    '%s by a %s: %s gets one answer for a known and an unknown client, without a statement',
    async (reason, signer, _what, changes) => {
      const before = proxy.parameters.length;
      const [known, unknown] = [
        await ask(assertionForm(signer, KNOWN, changes)),
        await ask(assertionForm(signer, UNKNOWN, changes)),
      ];
      expect({ ...known, json: undefined }).toEqual({ ...unknown, json: undefined });
      expectRefusedAssertion(known, reason);
      expect(lookUpsSince(before)).toEqual([]);
      expect(service.logLines().slice(-2)).toEqual([
        expect.objectContaining({ reason }),
        expect.objectContaining({ reason }),
      ]);
    },
  );

  it('names a cure for each reason of this kind', () => {
    const reasons = new Set(ASSERTION_MISTAKES.map(([reason]) => reason));
    expect([...reasons].toSorted()).toEqual(Object.keys(OPENLY_REFUSED).toSorted());
  });
});
