import { describe, expect, it } from '@jest/globals';
import { openApiEndpoint } from '../../adapters/http/endpoints/open-api-endpoint.ts';
import { ADMIN_API_REASONS } from '../../adapters/http/server/http-reasons.ts';
import { ALL_REASONS, type AnyReason, RESPONSES, refusalBody } from '../../adapters/http/server/http-refusal.ts';
import { API_DOCUMENT, documentedRefusals } from '../support/documented-responses.ts';
import { send } from '../support/http.ts';
import { readPage } from '../support/page-snippets.ts';
import { startServiceUnderTest } from '../support/running-service.ts';

/** Reasons without a response in the document. */
const WITHOUT_ANSWER: Readonly<Record<string, string>> = {
  client_disconnected: 'nobody is there to get it',
  scope_insufficient: 'no route of the service requires a scope',
  host_unknown: 'only the management port looks at the name',
  operator_token_wrong: 'only the management port asks for the token of the operator',
};

/** Of the parameters of client authentication. */
const HTTP_ONLY = ['assertion_type_unsupported'];

/** Every refusal that the code can give: its status and its body. */
const REFUSALS = Object.entries(ALL_REASONS)
  .filter(([reason]) => !(reason in WITHOUT_ANSWER || reason in ADMIN_API_REASONS))
  .flatMap(([reason, { code, description }]) => {
    const one = (ofCode: typeof code, prefix = '') => {
      const body = refusalBody({ code: ofCode, reason: reason as AnyReason });
      const name = body.error_description === undefined ? body.error : prefix + reason;
      return { status: RESPONSES[ofCode].status, name, body };
    };
    // Where the assertion is the grant, what it shows itself is invalid_grant.
    const isOfGrant = code === 'invalid_client' && reason.startsWith('assertion_') && description !== undefined;
    return isOfGrant && !HTTP_ONLY.includes(reason) ? [one(code), one('invalid_grant', 'grant_')] : one(code);
  });

describe('docs/openapi.json', () => {
  it('has the version of the service', () => {
    expect(API_DOCUMENT.info.version).toBe(JSON.parse(readPage('package.json')).version);
  });

  it('has an example for every refusal of the code, under its status, and no others', () => {
    const texts = (refusals: readonly object[]) => [...new Set(refusals.map((one) => JSON.stringify(one)))].toSorted();
    expect(texts(documentedRefusals())).toEqual(texts(REFUSALS));
  });

  it('has every path of a service with all settings, and no other', async () => {
    await using service = await startServiceUnderTest({
      environment: { PUBLIC_METADATA: 'true', METADATA_COMPATIBILITY: 'mcp,oidc', TOKEN_REVOCATION: 'true' },
    });
    const routes = service.built.routes.map(({ path, methods }) => ({
      // Some clients add a slash to the path of the metadata, which depends on the issuer anyway.
      path: path.replace(/:(\w+)/g, '{$1}').replace(/\/$/, ''),
      methods: Object.keys(methods).toSorted(),
    }));
    const documented = Object.entries(API_DOCUMENT.paths).map(([path, item]) => ({
      path,
      methods: Object.keys(item).flatMap((key) => (key.startsWith('x-') ? [] : [key.toUpperCase()])),
    }));
    const texts = (paths: readonly object[]) => [...new Set(paths.map((one) => JSON.stringify(one)))].toSorted();
    expect(texts(documented)).toEqual(texts(routes));
  });

  it('has requests that get a token', async () => {
    const { client_id, client_secret, ...others } = { client_id: 'my-client', client_secret: '{noop}my-secret' };
    const resources = ['https://api.example.com'];
    await using service = await startServiceUnderTest({
      clients: [{ ...others, client_id, client_secret, client_name: 'x', scope: 'read write', resources }],
    });
    const { content } = API_DOCUMENT.paths['/oauth2/token']?.['post']?.requestBody ?? { content: {} };
    const [[type, media] = ['', { examples: {} }]] = Object.entries(content);
    expect(Object.keys(media.examples)).toHaveLength(3);
    for (const { value } of Object.values(media.examples)) {
      const fields: readonly [string, string][] = Object.entries(value).map(([name, text]) => [name, String(text)]);
      const body = String(new URLSearchParams([...fields]));
      const headers = { 'content-type': type };
      expect((await send(service.url, '/oauth2/token', { method: 'POST', headers, body })).status).toBe(200);
    }
  });
});

describe('GET /openapi.json', () => {
  it('answers with the document and the base URL of the service', async () => {
    await using service = await startServiceUnderTest({
      addedPaths: ['/openapi.json'],
      features: [
        {
          routes: [
            {
              path: '/openapi.json',
              access: { kind: 'public' },
              methods: { GET: openApiEndpoint('https://auth.example.com') },
            },
          ],
        },
      ],
    });
    const response = await send(service.url, '/openapi.json');
    expect([response.status, response.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(response.json()).toEqual({ ...API_DOCUMENT, servers: [{ url: 'https://auth.example.com' }] });
  });
});
