import { describe, expect, it } from '@jest/globals';
import { openApiEndpoint } from '../../adapters/http/endpoints/open-api-endpoint.ts';
import { ALL_REASONS, ANSWERS, type AnyReason, refusalBody } from '../../adapters/http/server/http-refusal.ts';
import type { Route } from '../../adapters/http/server/koa-application.ts';
import { PARTS } from '../../config/parts.ts';
import type { ProducedAnswer } from '../support/answer-record.ts';
import { API_DOCUMENT, documentedAs, documentedRefusals } from '../support/documented-answers.ts';
import { send } from '../support/http.ts';
import { readPage } from '../support/page-snippets.ts';
import { startServiceUnderTest } from '../support/running-service.ts';

/** Reasons without an answer in the document. */
const WITHOUT_ANSWER: Readonly<Record<string, string>> = {
  client_disconnected: 'nobody is there to get it',
  scope_insufficient: 'no route of the service requires a scope',
  host_unknown: 'only the management port looks at the name',
  operator_token_wrong: 'only the management port asks for the token of the operator',
};

/** Every refusal that the code can give: its status and its body. */
const REFUSALS = Object.entries(ALL_REASONS)
  .filter(([reason]) => !(reason in WITHOUT_ANSWER))
  .map(([reason, { code }]) => {
    const body = refusalBody({ code, reason: reason as AnyReason });
    return { status: ANSWERS[code].status, name: body.error_description === undefined ? body.error : reason, body };
  });

const NOT_FOUND: ProducedAnswer = {
  request: { method: 'GET', target: '/v1/locations/NOWHERE?x=1' },
  status: 404,
  headers: {
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'x-request-id': '00000000-0000-4000-8000-000000000000',
    'content-type': 'application/json; charset=utf-8',
    date: 'Sat, 21 Nov 2026 00:00:00 GMT',
  },
  body: '{"error":"not_found"}',
};

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
      environment: { PUBLIC_METADATA: 'true', METADATA_COMPATIBILITY: 'mcp,oidc' },
    });
    const routes = service.container.resolve(PARTS.routes).map(({ path, methods }) => ({
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

  it('is compared with every answer that a test gets from a service', async () => {
    const service = await startServiceUnderTest({
      opened: (container) => {
        const added: Route = { path: '/added', access: { kind: 'public' }, methods: { GET: openApiEndpoint('x') } };
        container.registerInstance(PARTS.routes, [...container.resolve(PARTS.routes), added]);
      },
    });
    expect((await send(service.url, '/added')).status).toBe(200);
    await expect(service.stop()).rejects.toThrow(/does not have the answer .*"target":"\/added".*\n.*no answer 200/);
  });
});

describe('the comparison with docs/openapi.json', () => {
  const { headers } = NOT_FOUND;

  it('finds the documented answer', () => {
    expect(documentedAs(NOT_FOUND)).toBe('GET /v1/locations/{code} 404 not_found');
    expect(documentedAs({ ...NOT_FOUND, request: { method: 'GET', target: '/' } })).toBe('* * 404 not_found');
    expect(documentedAs({ ...NOT_FOUND, request: undefined })).toMatch(/404 not_found$/);
  });

  it.each<[string, Partial<ProducedAnswer>, string]>([
    ['a status that is not documented', { status: 403 }, 'has no answer 403'],
    ['a status that another path has', { request: { method: 'POST', target: '/oauth2/token' } }, 'has no answer 404'],
    ['another error', { body: '{"error":"invalid_token"}' }, 'has no example'],
    ['an error that does not exist', { body: '{"error":"other"}' }, 'data/body/error must be equal'],
    ['a further member', { body: '{"error":"not_found","path":"/x"}' }, 'must NOT have additional properties'],
    ['a body that is not JSON', { body: 'Not Found' }, 'has no example'],
    ['a further header field', { headers: { ...headers, 'x-powered-by': 'x' } }, 'must NOT have additional properties'],
    ['a header field that is missing', { headers: { ...headers, pragma: undefined } }, 'data/headers'],
    ['a header field with another value', { headers: { ...headers, 'cache-control': 'public' } }, 'cache-control'],
    ['another media type', { headers: { ...headers, 'content-type': 'text/html' } }, 'is JSON'],
  ])('reports %s', (_what, difference, problem) => {
    expect(() => documentedAs({ ...NOT_FOUND, ...difference })).toThrow(problem);
  });
});

describe('GET /openapi.json', () => {
  it('answers with the document and the base URL of the service', async () => {
    await using service = await startServiceUnderTest({
      addedPaths: ['/openapi.json'],
      override: (container) => {
        const methods = { GET: openApiEndpoint('https://auth.example.com') };
        container.registerInstance(PARTS.routes, [{ path: '/openapi.json', access: { kind: 'public' }, methods }]);
      },
    });
    const answer = await send(service.url, '/openapi.json');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(answer.json()).toEqual({ ...API_DOCUMENT, servers: [{ url: 'https://auth.example.com' }] });
  });
});
