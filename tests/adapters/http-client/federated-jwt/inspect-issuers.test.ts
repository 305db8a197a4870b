import { afterEach, describe, expect, test } from '@jest/globals';
import type { IssuerSource } from '../../../../adapters/http-client/federated-jwt/fetch-issuer-keys.ts';
import { inspectIssuers } from '../../../../adapters/http-client/federated-jwt/inspect-issuers.ts';
import { type KeySetAnswer, KeySetServer, keySetAnswer } from '../../../support/key-set-server.ts';
import { WorkloadKey } from '../../../support/workload-issuer.ts';

const [ONE, OTHER] = [new WorkloadKey('one').jwk(), new WorkloadKey('other').jwk()];
const CURE = 'correct jwks_uri in CLIENT_ASSERTION_ISSUERS_FILE, or the network between here and the issuer';

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

const issuer = (name: string, uri: string): IssuerSource => {
  return { issuer: name, algorithms: ['RS256'], preset: 'none', source: { uri } };
};

async function serve(answer: KeySetAnswer): Promise<KeySetServer> {
  return stack.use(await KeySetServer.start(answer));
}

describe('the doctor, of the trusted issuers', () => {
  test('says how many keys of each set it can use', async () => {
    const { url } = await serve(keySetAnswer({ keys: [ONE, OTHER, { ...ONE, kid: 'encryption', use: 'enc' }] }));
    expect(await inspectIssuers([issuer('https://issuer.test', url)])).toEqual([
      { state: 'ok', text: 'https://issuer.test: 2 usable keys' },
    ]);
  });

  test('says of a set what is wrong with it, and of each issuer by itself', async () => {
    const absent = await serve({ kind: 'text', text: '', status: 404 });
    const html = await serve({ kind: 'text', text: '<html>secret</html>' });
    const good = await serve(keySetAnswer({ keys: [ONE] }));
    const left = await serve(keySetAnswer({ keys: [ONE] }));
    await left.leave();
    const findings = await inspectIssuers([
      issuer('absent', absent.url),
      issuer('html', html.url),
      issuer('good', good.url),
      issuer('left', left.url),
    ]);
    const text = 'the key set cannot be fetched';
    expect(findings).toEqual([
      { state: 'problem', text: `absent: ${text}: the key set was answered with status 404`, cure: CURE },
      { state: 'problem', text: `html: ${text}: the key set must be a JWK set`, cure: CURE },
      { state: 'ok', text: 'good: 1 usable keys' },
      { state: 'problem', text: `left: ${text}: ECONNREFUSED`, cure: CURE },
    ]);
  });
});
