import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { requestToken, send } from '../support/http.ts';
import { ServerProcess } from '../support/server-process.ts';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const FORM = { grant_type: 'client_credentials', client_id: 'demo-client', client_secret: 'demo-secret' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
const ROUNDS = 20;

describe('a web server that calls the service as a function', () => {
  it.each(['toWeb', 'the request itself'])(
    'survives refusals before the body is read, with a body by %s',
    async (way) => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      await using host = new ServerProcess(CHECKOUT, ['tests/support/node-http-host.ts'], {
        ...{ PORT: String(port), BODY: way, BASE_URL: url, PUBLIC_METADATA: 'true' },
        ...{ CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'config/demo/clients.json', CLIENT_FAILURES_PER_MINUTE: '0' },
      });
      await host.answers(`${url}/oauth2/jwks`);
      const [path, method] = ['/oauth2/token', 'POST'];
      for (let round = 0; round < ROUNDS; round += 1) {
        const refused = await Promise.all([
          send(url, path, { method, headers: { 'content-type': 'application/json' }, body: '{}' }),
          send(url, path, { method, headers: { ...FORM_TYPE, 'content-encoding': 'gzip' }, body: 'x' }),
          send(url, path, { method, headers: FORM_TYPE, body: 'x'.repeat(20 * 1024) }),
          send(url, path, { method: 'PUT', headers: FORM_TYPE, body: 'x'.repeat(round * 1024) }),
        ]);
        expect(refused.map(({ status }) => status)).toEqual([400, 415, 413, 405]);
        expect((await requestToken(url, FORM)).status).toBe(200);
      }
    },
  );
});
