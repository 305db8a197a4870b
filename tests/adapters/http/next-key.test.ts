import { expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { getAccessToken, send } from '../../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, startServiceUnderTest } from '../../support/running-service.ts';
import { until } from '../../support/until.ts';

/** The ids of the published keys. */
async function publishedKids(url: string): Promise<readonly unknown[]> {
  const { keys } = (await send(url, '/oauth2/jwks')).json() as { keys: readonly { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

it('publishes the next key a day before the rotation, so that verifiers that cache key sets for hours know it', async () => {
  const day = { KEY_ROTATION_SECONDS: '86400', KEY_PUBLICATION_SECONDS: '1', PUBLIC_METADATA: 'true' };
  await using service = await startServiceUnderTest({ environment: day });
  const kidOfToken = async () =>
    decodeProtectedHeader(await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET)).kid;
  const first = await kidOfToken();
  await until(async () => (await publishedKids(service.url)).length === 2, 'the next key is published');
  expect(await publishedKids(service.url)).toContain(first);
  expect(await kidOfToken()).toBe(first);
});
