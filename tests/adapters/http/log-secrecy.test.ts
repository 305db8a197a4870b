import { describe, expect, it } from '@jest/globals';
import { PARTS } from '../../../config/parts.ts';
import { getAccessToken, requestToken, send, sendRaw } from '../../support/http.ts';
import { GOOD_SECRET } from '../../support/running-service.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

const SECRET = 'sent-in-the-wrong-place-secret';
const GOOD = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };

// When the suite has ended, serviceForSuite searches the log for secrets and tokens. Each case puts them in an unexpected place.
describe('secrets and tokens appear in no log and no answer, wherever they are sent', () => {
  const service = serviceForSuite();

  it.each([
    ['the path', { path: `/${SECRET}` }],
    ['the path of a route', { path: `/v1/locations/${SECRET}` }],
    ['the query string', { path: `/oauth2/token?client_secret=${SECRET}` }],
    ['the query string of another path', { path: `/v1/locations/NYC_USA?access_token=${SECRET}` }],
    ['client_id', { form: { ...GOOD, client_id: SECRET } }],
    ['the name of a parameter', { form: { ...GOOD, [SECRET]: '1' } }],
    ['grant_type', { form: { ...GOOD, grant_type: SECRET } }],
    ['scope', { form: { ...GOOD, scope: SECRET } }],
    ['a malformed scope', { form: { ...GOOD, scope: `"${SECRET}` } }],
    ['the Content-Type', { headers: { 'content-type': SECRET } }],
    ['the Content-Encoding', { headers: { 'content-encoding': SECRET } }],
    ['the Authorization scheme', { headers: { authorization: SECRET } }],
    ['Authorization', { headers: { authorization: `Basic ${SECRET}` } }],
    ['a cookie', { headers: { cookie: SECRET } }],
    ['the request id', { headers: { 'x-request-id': SECRET } }],
    ['the User-Agent', { headers: { 'user-agent': SECRET } }],
    ['X-Forwarded-For', { headers: { 'x-forwarded-for': SECRET } }],
  ])(
    '%s',
    async (_name, {
      path,
      form,
      headers,
    }: { path?: string; form?: Record<string, string>; headers?: Record<string, string> }) => {
      const answer =
        path === undefined
          ? await requestToken(service().url, form ?? { ...GOOD, client_secret: 'wrong-secret' }, headers)
          : await send(service().url, path, { method: 'POST' });
      expect(answer.text).not.toContain(SECRET);
      expect(answer.headers['x-request-id']).not.toBe(SECRET);
      logLineOf(service(), answer);
    },
  );

  it('a method', async () => {
    expect(await sendRaw(service().port, `${SECRET} / HTTP/1.1\r\nHost: x\r\n\r\n`)).not.toContain(SECRET);
  });

  it('a token, as the path and after Bearer', async () => {
    const token = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
    await send(service().url, `/${token}`);
    await send(service().url, '/', { headers: { authorization: `Bearer ${token}` } });
    await send(service().url, '/', { headers: { authorization: `Bearer ${token}x` } });
  });
});

describe('a fault that has the secret in its members', () => {
  const service = serviceForSuite({
    override: (container) => {
      const find = () =>
        Promise.reject(Object.assign(new Error('query failed'), { parameters: [SECRET], query: SECRET }));
      container.registerInstance(PARTS.clientRepository, { findByClientId: find, findSecret: find });
    },
  });

  it('is logged without them', async () => {
    const answer = await requestToken(service().url, GOOD);
    expect(logLineOf(service(), answer)).toMatchObject({ fault: { message: 'query failed' } });
  });
});
